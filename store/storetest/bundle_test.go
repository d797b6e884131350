package storetest_test

import (
	"context"
	"os"
	"sync"
	"testing"
	"time"

	"countersign/store"
	"countersign/store/storetest"
	"countersign/tools/localstack"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	code := localstack.Main(m)
	if code == 0 {
		if err := goleak.Find(); err != nil {
			os.Stderr.WriteString(err.Error())
			code = 1
		}
	}
	os.Exit(code)
}

func TestEveryTestHasItsOwnMigratedDatabase(t *testing.T) {
	t.Parallel()
	one, two := storetest.New(t), storetest.New(t)
	for _, b := range []*storetest.Bundle{one, two} {
		require.NoError(t, b.Store.Migrated(t.Context()))
		i, err := b.Store.Instance(t.Context())
		require.NoError(t, err)
		require.Equal(t, storetest.Resource, i.Resource)
	}
	_, err := one.Pool.Exec(t.Context(), "INSERT INTO users (name) VALUES ('only-here')")
	require.NoError(t, err)
	var n int
	require.NoError(t, two.Pool.QueryRow(t.Context(), "SELECT count(*) FROM users").Scan(&n))
	require.Zero(t, n)
}

func TestDatabaseIsGoneAfterTheTest(t *testing.T) {
	t.Parallel()
	var b *storetest.Bundle
	t.Run("inner", func(t *testing.T) { b = storetest.New(t) })
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	require.Error(t, b.Open(t, store.Options{}).Ping(ctx))
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			b := storetest.New(t)
			if err := b.Store.Ping(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}
