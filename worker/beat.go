// The worker's word that it can sign, without which the API takes no work.

package worker

import "context"

// beat says so at once and from then on, as long as it is true. A key that is missing, has wrong
// permissions or is not the one in use ends nothing by itself: it is logged each time, and once the
// last word of all workers is half a minute old no work is dispatched or claimed.
func beat(ctx context.Context, o Options) {
	for {
		if err := o.Store.BeatSigner(ctx, o.Name); err != nil && ctx.Err() == nil {
			o.Log.Error("receipts cannot be signed here", "error", err)
		}
		if pause(ctx, o.BeatEvery) {
			return
		}
	}
}
