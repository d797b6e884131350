// Attachments whose transaction PostgreSQL takes back, and that meet uploads of the same bytes.

package store_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"
	"testing"

	"countersign/contracts/workflow"
	"countersign/store"
	"countersign/store/storetest"

	"github.com/stretchr/testify/require"
)

func blobOf(data string) store.Blob {
	sum := sha256.Sum256([]byte(data))
	return store.Blob{ContentHash: "sha256:" + hex.EncodeToString(sum[:]), Bytes: int64(len(data)), Content: strings.NewReader(data)}
}

// TestAttachIsTriedAgain: the second try of a transaction has all of the bytes too.
func TestAttachIsTriedAgain(t *testing.T) {
	t.Parallel()
	s := storetest.NewScene(t)
	_, err := s.Pool.Exec(t.Context(), `CREATE SEQUENCE tries;
		CREATE FUNCTION fail_once() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			IF nextval('tries') = 1 THEN RAISE EXCEPTION 'taken back' USING ERRCODE = '40001'; END IF;
			RETURN NEW; END $$;
		CREATE TRIGGER fail_once BEFORE INSERT ON lineage_heads FOR EACH ROW EXECUTE FUNCTION fail_once()`)
	require.NoError(t, err)
	_, err = s.Store.Attach(t.Context(), s.Owner.User, s.Project.ID, blobOf("numbers"))
	require.NoError(t, err)
	found, err := s.Store.Fsck(t.Context())
	require.NoError(t, err)
	require.Empty(t, found)
}

// TestSameBytesAtOnce: a worker that hands in a file both ways at once waits for itself, no more.
func TestSameBytesAtOnce(t *testing.T) {
	t.Parallel()
	d := played(t)
	var seen deadlocks
	s := d.Open(t, store.Options{Tracer: &seen, Lineage: storetest.Lineage})
	for round := range 20 {
		data := strings.Repeat(fmt.Sprintln(round), 1<<16)
		up := workflow.Upload{ContentHash: blobOf(data).ContentHash, Bytes: int64(len(data))}
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				_, err := s.AttachFor(t.Context(), d.exec, d.held, blobOf(data))
				if err != nil {
					t.Error(err)
				}
			})
			wg.Go(func() {
				if err := s.SaveUpload(t.Context(), d.exec, d.held, up, blobOf(data)); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
	require.Zero(t, seen.n.Load())
}

// gated are bytes that nobody reads before the gate opens.
type gated struct {
	store.Blob
	asked chan<- struct{}
	gate  <-chan struct{}
}

func (g gated) ReadAt(p []byte, at int64) (int, error) {
	g.asked <- struct{}{}
	<-g.gate
	return g.Content.ReadAt(p, at)
}

// TestUploadsLeaveConnections: however much is being handed in, a lease can be renewed.
func TestUploadsLeaveConnections(t *testing.T) {
	t.Parallel()
	d := played(t)
	s := d.Open(t, store.Options{MaxConns: 4, Lineage: storetest.Lineage})
	const uploads = 10
	asked, gate := make(chan struct{}, 2*uploads), make(chan struct{})
	var wg sync.WaitGroup
	for i := range uploads {
		wg.Go(func() {
			b := blobOf(fmt.Sprint("upload ", i))
			b.Content = gated{b, asked, gate}
			_, err := s.AttachFor(t.Context(), d.exec, d.held, b)
			if err != nil {
				t.Error(err)
			}
		})
	}
	for range 2 {
		<-asked
	}
	_, ok, err := s.Renew(t.Context(), d.exec, d.held)
	require.NoError(t, err)
	require.True(t, ok)
	close(gate)
	wg.Wait()
}
