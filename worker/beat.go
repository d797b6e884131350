// The worker's word that it can sign, without which the API takes no work.

package worker

import (
	"context"
	"time"
)

// keyEvery is how often a worker looks whether it has another key: one that was rotated is announced
// within a second, not with the next beat.
const keyEvery = time.Second

// beat says that this worker can sign, at once and from then on, as long as it is true. A key that is
// missing, has wrong permissions or is not the one in use ends nothing by itself: it is logged, and
// once the last word of all workers is half a minute old no work is dispatched or claimed.
func beat(ctx context.Context, o Options) {
	var (
		due         time.Time
		key, failed string
	)
	for {
		now, err := o.Store.SigningKey()
		if err == nil && (now != key || failed != "" || !time.Now().Before(due)) {
			due = time.Now().Add(o.BeatEvery)
			err = o.Store.BeatSigner(ctx, o.Name)
		}
		key = now
		if err != nil && err.Error() != failed && ctx.Err() == nil {
			o.Log.Error("receipts cannot be signed here", "error", err)
		}
		if failed = ""; err != nil {
			failed = err.Error()
		}
		if pause(ctx, min(keyEvery, o.BeatEvery)) {
			return
		}
	}
}
