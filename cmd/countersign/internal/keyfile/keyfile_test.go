// The key file: guarded, never overwritten, and changed without a moment in which it is lost.

package keyfile_test

import (
	"os"
	"path/filepath"
	"testing"

	"countersign/cmd/countersign/internal/keyfile"
	"countersign/contracts"
	"countersign/contracts/receipt"
	"countersign/store"
	"countersign/store/storetest"
	"countersign/tools/localstack"

	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) { os.Exit(localstack.Main(m)) }

func TestLoad(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "deep", "key.pem")
	_, err := keyfile.Load(path)
	require.ErrorIs(t, err, keyfile.ErrMissing)
	_, err = keyfile.Create(path, keyfile.Ed25519)
	require.Error(t, err, "Create makes no directories")
	for _, a := range []keyfile.Algorithm{keyfile.Ed25519, keyfile.P256} {
		path := filepath.Join(t.TempDir(), "deep", "key.pem")
		made, err := keyfile.Ensure(path, a)
		require.NoError(t, err)
		require.Equal(t, a == keyfile.Ed25519, made.Public().Ed25519())
		again, err := keyfile.Ensure(path, a)
		require.NoError(t, err)
		require.Equal(t, made.Public(), again.Public())
		_, err = keyfile.Create(path, a)
		require.ErrorIs(t, err, os.ErrExist)
		files, err := os.ReadDir(filepath.Dir(path))
		require.NoError(t, err)
		require.Len(t, files, 1)
		for _, mode := range []os.FileMode{0o604, 0o640, 0o620, 0o666, 0o700 | 0o001} {
			require.NoError(t, os.Chmod(path, mode))
			_, err = keyfile.Load(path)
			require.ErrorContains(t, err, "others than its owner may use", "%o", mode)
			_, err = keyfile.Signer(path)()
			require.Error(t, err)
			_, err = keyfile.Ensure(path, a)
			require.Error(t, err)
		}
		for _, mode := range []os.FileMode{0o600, 0o400} {
			require.NoError(t, os.Chmod(path, mode))
			_, err = keyfile.Load(path)
			require.NoError(t, err)
		}
		require.NoError(t, os.Chmod(path, 0o600))
		secret, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, bad := range []string{"", "no key", string(secret) + string(secret), made.Public().PEM} {
			require.NoError(t, os.WriteFile(path, []byte(bad), 0o600))
			_, err = keyfile.Load(path)
			require.Error(t, err)
		}
		_, err = keyfile.Load(filepath.Dir(path))
		require.ErrorContains(t, err, "no regular file")
	}
}

func TestRotate(t *testing.T) {
	t.Parallel()
	b := storetest.New(t)
	path := storetest.KeyFile(t, storetest.First)
	staged := path + ".next"
	signs := func() error { return b.Open(t, store.Options{Signer: keyfile.Signer(path)}).SignsNow(t.Context()) }
	require.NoError(t, signs())

	// What a rotation left that the database never heard of is nothing.
	require.NoError(t, os.WriteFile(staged, storetest.KeyPEM(t, "stale"), 0o600))
	made, err := keyfile.Rotate(t.Context(), b.Store, path, keyfile.Ed25519, false)
	require.NoError(t, err)
	require.Equal(t, storetest.Key(t, storetest.First).Public().SHA256, made.SignedBy)
	require.NotEqual(t, storetest.Key(t, "stale").Public().SHA256, made.SHA256)
	require.NoFileExists(t, staged)
	require.NoError(t, signs())

	// What the database has taken is finished, and nothing else is done.
	current, err := keyfile.Load(path)
	require.NoError(t, err)
	taken, err := b.Store.RotateKey(t.Context(), storetest.Key(t, "taken"), current)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(staged, storetest.KeyPEM(t, "taken"), 0o600))
	require.Error(t, signs())
	made, err = keyfile.Rotate(t.Context(), b.Store, path, keyfile.Ed25519, false)
	require.NoError(t, err)
	require.Equal(t, taken.SHA256, made.SHA256)
	require.NoFileExists(t, staged)
	require.NoError(t, signs())

	// A refusal leaves everything as it was.
	other := storetest.KeyFile(t, "another")
	_, err = keyfile.Rotate(t.Context(), b.Store, other, keyfile.Ed25519, false)
	require.Equal(t, contracts.CodeStateConflict, contracts.CodeOf(err))
	require.NoFileExists(t, other+".next")
	require.NoError(t, signs())

	// A lost file: nothing without being told so, then a chain of its own.
	require.NoError(t, os.Remove(path))
	_, err = keyfile.Rotate(t.Context(), b.Store, path, keyfile.Ed25519, false)
	require.ErrorIs(t, err, keyfile.ErrMissing)
	made, err = keyfile.Rotate(t.Context(), b.Store, path, keyfile.P256, true)
	require.NoError(t, err)
	require.Empty(t, made.SignedBy)
	require.NoError(t, signs())
	keys, err := b.Store.Keys(t.Context())
	require.NoError(t, err)
	require.NoError(t, keys.Check())
	require.Len(t, keys.Keys, 4)
	require.Equal(t, receipt.KeyID(made.SHA256), keys.Keys[3].ID)
}
