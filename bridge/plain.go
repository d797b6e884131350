// The plain directory that an artifact task works in: no checkout, no branch, and no isolation either.

package bridge

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"syscall"
	"time"

	"countersign/contracts"
	"countersign/contracts/artifact"
	"countersign/contracts/workflow"
)

// plain is an artifact task's workspace (seed "artifact contract", the workspace contract): a directory
// named by the session, made for it alone and removed with it.
type plain struct {
	dir  string
	spec artifact.Spec
	// before is what lay there when the agent started.
	before map[string]string
}

// preparePlain ends with a directory that holds the candidate and nothing else; a first attempt's is empty.
func (a *attempt) preparePlain(ctx context.Context) error {
	spec, err := artifact.ParseSpec(a.plan.ArtifactSpec)
	if err != nil {
		return failf("plan_invalid", "artifact_spec")
	}
	if !executionID.MatchString(a.plan.SessionID) {
		return failf("plan_invalid", "session id")
	}
	dir := a.node.root.plain(a.plan.SessionID)
	if _, err := os.Lstat(dir); err == nil {
		return fmt.Errorf("%s exists already", dir)
	}
	a.Plain = dir
	if err := a.save(); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return fmt.Errorf("make the workspace: %w", err)
	}
	a.place = &plain{dir: dir, spec: spec}
	if a.plan.Workflow.CandidateHash != nil {
		if err := a.fetchCandidate(ctx); err != nil {
			return err
		}
	}
	if a.place.before, err = observeFiles(ctx, dir); err != nil {
		return err
	}
	if err := a.scratchDirs(); err != nil {
		return err
	}
	a.job = a.newJob(dir)
	return nil
}

// openPlace opens a workspace, where the agent may have put something else in its place: the slash lets
// nothing but a directory be opened, so that the bridge does not wait for the writer of a pipe.
func openPlace(dir string) (*os.Root, error) { return os.OpenRoot(dir + "/") }

// fetchCandidate writes the exact bytes to verify or to correct where the task declares its output.
func (a *attempt) fetchCandidate(ctx context.Context) error {
	root, err := openPlace(a.place.dir)
	if err != nil {
		return fmt.Errorf("workspace: %w", err)
	}
	defer root.Close()
	if dir := path.Dir(a.place.spec.OutputPath); dir != "." {
		if err := root.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("workspace: %w", err)
		}
	}
	return a.node.client.Candidate(ctx, a.ExecutionID, a.lease.fence, func(in io.Reader) error {
		f, err := root.OpenFile(a.place.spec.OutputPath, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
		if err != nil {
			return fmt.Errorf("candidate: %w", err)
		}
		hash := sha256.New()
		_, err = io.Copy(io.MultiWriter(f, hash), in)
		if err = errors.Join(err, f.Close()); err != nil {
			return fmt.Errorf("candidate: %w", err)
		}
		if got := "sha256:" + hex.EncodeToString(hash.Sum(nil)); got != *a.plan.Workflow.CandidateHash {
			return failf("candidate_differs", "the server sent %s", got)
		}
		return nil
	})
}

// openOutput opens the deliverable, links followed as long as they stay in the workspace. The error is
// fs.ErrNotExist when nothing was written.
func (p *plain) openOutput() (*os.File, error) {
	root, err := openPlace(p.dir)
	if err != nil {
		return nil, fmt.Errorf("workspace: %w", err)
	}
	defer root.Close()
	// Not to wait for whoever writes into a pipe of that name.
	f, err := root.OpenFile(p.spec.OutputPath, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", failf("artifact_path_refused", "the output cannot be read within the workspace"), err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = failf("artifact_path_refused", "the output is no regular file")
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// produced hands in a worker's deliverable. What was not written, or has no canonical form, is for the
// server to say: the event goes without a hash.
func (a *attempt) produced(ctx context.Context, out *outcome) (*workflow.Event, error) {
	ev := newEvidence(a.plan, out, time.Now())
	terminal := a.completed(out)
	switch up, err := a.upload(ctx); {
	case errors.Is(err, fs.ErrNotExist) || contracts.CodeOf(err) == artifact.CodeRejected:
		a.log.Warn("no artifact was handed in", "error", err)
	case err != nil:
		return nil, err
	default:
		ev.ArtifactHash, terminal.ArtifactHash = up.ContentHash, &up.ContentHash
	}
	if err := a.attachEvidence(ctx, ev); err != nil {
		return nil, err
	}
	answered(terminal, out)
	return terminal, nil
}

func (a *attempt) upload(ctx context.Context) (*workflow.Upload, error) {
	f, err := a.place.openOutput()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	up, err := a.node.client.Upload(ctx, a.ExecutionID, a.lease.fence, f)
	if s, ok := errors.AsType[*StatusError](err); ok && !gone[contracts.CodeOf(err)] && contracts.CodeOf(err) != artifact.CodeRejected {
		return nil, fmt.Errorf("%w: %w", failf("artifact_refused", "%s", s.Refusal.Code), err)
	}
	return up, err
}

// judgedPlain hands in a verdict on an artifact that lies where it lay, with nothing beside it.
func (a *attempt) judgedPlain(ctx context.Context, out *outcome) (*workflow.Event, error) {
	after, err := observeFiles(ctx, a.place.dir)
	if err != nil {
		return nil, err
	}
	if !maps.Equal(a.place.before, after) {
		return nil, failf("workspace_modified", "%s", listed(differing(a.place.before, after)))
	}
	v, err := verdict(a.plan, out.report.Answer.Results)
	if err != nil {
		return nil, err
	}
	ev := newEvidence(a.plan, out, time.Now())
	ev.ArtifactHash = v.CandidateHash
	if err := a.attachEvidence(ctx, ev); err != nil {
		return nil, err
	}
	terminal := a.completed(out)
	terminal.ArtifactHash, terminal.Verdict = &v.CandidateHash, v
	return terminal, nil
}

// attachEvidence records the evidence with the server, for the workspace goes away, and keeps it beside
// the attempt's own record. A server that cannot record it now does not cost the result.
func (a *attempt) attachEvidence(ctx context.Context, ev *evidence) error {
	content, err := ev.bytes()
	if err != nil {
		return fmt.Errorf("evidence: %w", err)
	}
	if err := os.WriteFile(a.path("evidence.json"), content, 0o600); err != nil {
		return fmt.Errorf("evidence: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, a.lease.length/3)
	defer cancel()
	if _, err := a.node.client.Attach(ctx, a.ExecutionID, a.lease.fence, content); err != nil {
		a.log.Warn("the evidence stays on this node", "file", a.path("evidence.json"), "error", err)
	}
	return nil
}
