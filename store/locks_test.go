package store_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"countersign/contracts"
	"countersign/contracts/workflow"
	"countersign/store"
	"countersign/store/storetest"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
)

// Every write of the store at once on the same few rows: the one lock order leaves no deadlock for
// PostgreSQL to resolve, and every answer is a success or a refusal.
func TestWritesAtOnceDoNotDeadlock(t *testing.T) {
	t.Parallel()
	s := storetest.NewScene(t)
	var seen deadlocks
	s.Bundle.Store = s.Open(t, store.Options{Tracer: &seen})
	ctx, owner, project := t.Context(), s.Owner.User, s.Project.ID
	s.MakeMember(t, owner, project, "second", workflow.RoleOwner)
	task := s.AddTask(t)
	title := "edited"
	var expected sync.Map // refusals that were met

	writes := []func(i int) error{
		func(int) error {
			_, err := s.Store.PutMember(ctx, owner, project, owner, put(workflow.RoleOwner, "active"))
			return err
		},
		func(i int) error {
			role := []workflow.Role{workflow.RoleAdmin, workflow.RoleOwner}[i%2]
			_, err := s.Store.PutMember(ctx, "second", project, "second", put(role, "active"))
			return err
		},
		func(i int) error {
			accounts := []workflow.Account{codex, claude}[:i%3%2+1]
			_, err := s.Store.PatchNode(ctx, owner, s.Node.ID, workflow.PatchNode{Accounts: &accounts})
			return err
		},
		func(int) error {
			_, err := s.Store.CreateTask(ctx, owner, workflow.CreateTask{WriteContext: s.WriteContext(), Title: "t", Goal: "g"})
			return err
		},
		func(int) error {
			now, err := s.Store.Task(ctx, owner, task.ID)
			if err != nil {
				return err
			}
			_, err = s.Store.PatchTask(ctx, owner, task.ID, workflow.PatchTask{WriteContext: s.WriteContext(), ExpectedVersion: now.Version, Title: &title})
			return err
		},
		func(int) error {
			now, err := s.Store.Task(ctx, owner, task.ID)
			if err != nil {
				return err
			}
			d, err := s.Dispatch(t, s.Spec(now), lease, deadline)
			if err != nil {
				return err
			}
			_, err = s.Store.CommitNext(ctx, d.WorkflowID, workflow.Command{Kind: workflow.CommandCancel, Actor: owner})
			return err
		},
		func(int) error {
			n, err := s.Store.EnrollNode(ctx, owner, workflow.EnrollNode{Name: "n", AnchorProjectID: project})
			if err != nil {
				return err
			}
			who, err := s.Store.Authenticate(ctx, n.Token)
			if err != nil {
				return err
			}
			_, err = s.Store.RevokeToken(ctx, s.Owner, who.TokenID, workflow.RevokeToken{})
			return err
		},
	}
	var wg sync.WaitGroup
	for _, write := range writes {
		for range 2 {
			wg.Go(func() {
				for i := range 25 {
					err := write(i)
					if refusal, ok := errors.AsType[*contracts.Error](err); ok {
						expected.Store(refusal.Code, true)
					} else if err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	expected.Range(func(code, _ any) bool {
		require.Contains(t, []contracts.Code{
			contracts.CodeVersionConflict, contracts.CodeWorkflowActive, contracts.CodeNodeBusy, contracts.CodeForbidden,
		}, code)
		return true
	})
	require.Zero(t, seen.n.Load())
}

// deadlocks counts the statements that PostgreSQL ended as a deadlock's victim, which the store tries
// again in silence.
type deadlocks struct{ n atomic.Int64 }

func (d *deadlocks) note(err error) {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && pg.Code == "40P01" {
		d.n.Add(1)
	}
}

func (d *deadlocks) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}

func (d *deadlocks) TraceQueryEnd(_ context.Context, _ *pgx.Conn, data pgx.TraceQueryEndData) {
	d.note(data.Err)
}

func (d *deadlocks) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return ctx
}

func (d *deadlocks) TraceBatchQuery(_ context.Context, _ *pgx.Conn, data pgx.TraceBatchQueryData) {
	d.note(data.Err)
}

func (d *deadlocks) TraceBatchEnd(_ context.Context, _ *pgx.Conn, data pgx.TraceBatchEndData) {
	d.note(data.Err)
}
