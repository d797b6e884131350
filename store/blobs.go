// Bytes by content hash, written and read in parts.

package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/jackc/pgx/v5"
)

// blobPart is how many bytes one row holds.
const blobPart = 1 << 20

// Blob is bytes to keep with the identity they were found to have.
type Blob struct {
	ContentHash string
	Bytes       int64
	// Content has exactly Bytes bytes, which hash to ContentHash. It is read from the start for every try of
	// the transaction.
	Content io.ReaderAt
}

// blobTx is tx for what writes a blob. That takes a connection for as long as the bytes take, so no more than
// half of them may at once: renewals and everything else go on, whatever is handed in.
func (s *Store) blobTx(ctx context.Context, f func(pgx.Tx) error) error {
	select {
	case s.writing <- struct{}{}:
	case <-ctx.Done():
		return unavailable(ctx.Err())
	}
	defer func() { <-s.writing }()
	return s.tx(ctx, f)
}

// putBlob keeps bytes that may be there already. Bytes that are not what they are said to be are an
// error and leave nothing.
func putBlob(ctx context.Context, tx pgx.Tx, b Blob) error {
	// The no-op update holds the row against the sweep of unnamed blobs; xmax tells it from an insert.
	var fresh bool
	err := tx.QueryRow(ctx, `INSERT INTO blobs (content_hash, bytes) VALUES ($1, $2)
		ON CONFLICT (content_hash) DO UPDATE SET created_at = clock_timestamp() RETURNING xmax = 0`, b.ContentHash, b.Bytes).Scan(&fresh)
	if err != nil || !fresh {
		return err
	}
	hash := sha256.New()
	content := io.TeeReader(io.NewSectionReader(b.Content, 0, b.Bytes), hash)
	buffer := make([]byte, min(blobPart, b.Bytes))
	left := b.Bytes
	for part := 0; left > 0; part++ {
		n, err := io.ReadFull(content, buffer[:min(blobPart, left)])
		if err != nil {
			return fmt.Errorf("read the bytes of %s: %w", b.ContentHash, err)
		}
		if _, err := tx.Exec(ctx, `INSERT INTO blob_parts (content_hash, part, body) VALUES ($1, $2, $3)`, b.ContentHash, part, buffer[:n]); err != nil {
			return err
		}
		left -= int64(n)
	}
	if got := "sha256:" + hex.EncodeToString(hash.Sum(nil)); got != b.ContentHash {
		return fmt.Errorf("the bytes said to be %s are %s", b.ContentHash, got)
	}
	return nil
}

// ErrNoBlob says that no bytes of that hash are kept.
var ErrNoBlob = errors.New("no bytes of that hash")

// OpenBlob is a reader of kept bytes, part by part, and how many there are. A blob that rows name never
// goes away, so that no transaction is held while it is read. ErrNoBlob when there is none.
func (s *Store) OpenBlob(ctx context.Context, contentHash string) (io.Reader, int64, error) {
	var size int64
	err := s.pool.QueryRow(ctx, `SELECT bytes FROM blobs WHERE content_hash = $1`, contentHash).Scan(&size)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, 0, ErrNoBlob
	}
	if err != nil {
		return nil, 0, translate(err)
	}
	return &blobReader{ctx: ctx, store: s, hash: contentHash, left: size}, size, nil
}

type blobReader struct {
	ctx   context.Context
	store *Store
	hash  string
	part  int
	body  []byte
	left  int64
}

// Read reads the next part when the last one is used up.
func (r *blobReader) Read(p []byte) (int, error) {
	if len(r.body) == 0 {
		if r.left == 0 {
			return 0, io.EOF
		}
		err := r.store.pool.QueryRow(r.ctx, `SELECT body FROM blob_parts WHERE content_hash = $1 AND part = $2`, r.hash, r.part).Scan(&r.body)
		if err != nil {
			return 0, translate(err)
		}
		r.part++
		r.left -= int64(len(r.body))
	}
	n := copy(p, r.body)
	r.body = r.body[n:]
	return n, nil
}

// SweepBlobs deletes bytes that were uploaded and that nothing names.
func (s *Store) SweepBlobs(ctx context.Context, olderThan time.Duration, limit int) error {
	return s.exec(ctx, `DELETE FROM blobs WHERE content_hash IN (SELECT b.content_hash FROM blobs b
		WHERE b.created_at < clock_timestamp() - make_interval(secs => $1)
			AND NOT EXISTS (SELECT FROM uploads u WHERE u.content_hash = b.content_hash)
			AND NOT EXISTS (SELECT FROM lineage l WHERE l.content_hash = b.content_hash)
		LIMIT $2 FOR UPDATE SKIP LOCKED)`, olderThan.Seconds(), limit)
}
