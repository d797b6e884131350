// Looks at the state a worker may change, before and after its call, and what differs between them.

package bridge

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"countersign/contracts/canonjson"
	"countersign/contracts/capability"
	"countersign/contracts/workflow"
)

// The side effects that a comparison of two states shows.
const (
	effectCreate = "create"
	effectWrite  = "write"
	effectDelete = "delete"
)

// An event can carry so many changed surfaces of so many characters, and so many bytes of them: its body
// has 1 MiB at most, and room for what else it says.
const (
	maxChanges      = 2000
	maxSurface      = 1200
	maxChangesBytes = 768 << 10
)

// look is one look: which state it was, the digest of its content, and when.
type look struct {
	ref, sha256 string
	at          time.Time
}

// observation is the look as an event carries it. It is always the bridge's own: no worker is asked.
func (l look) observation() workflow.StateObservation {
	return workflow.StateObservation{Source: capability.ObservedByCaller, StateRef: l.ref, StateSHA256: l.sha256, ObservedAt: l.at}
}

// lookBefore keeps what the worker finds.
func (a *attempt) lookBefore(ctx context.Context) (err error) {
	switch {
	case !a.bound():
	case a.place != nil:
		a.before, err = a.lookAtFiles("before", a.place.before)
	default:
		a.before, err = a.lookAtCommit(ctx, "before", a.plan.BaseCommit, nil)
	}
	return err
}

// lookAfter takes the second look and lists what differs from the first. candidate is the sealed commit,
// "" where there is none.
func (a *attempt) lookAfter(ctx context.Context, candidate string) (l look, changes []workflow.SurfaceChange, err error) {
	if a.place != nil {
		files, err := observeFiles(ctx, a.place.dir)
		if err != nil {
			return l, nil, err
		}
		if l, err = a.lookAtFiles("after", files); err != nil {
			return l, nil, err
		}
		changes, err = surfaces(fileEffects(a.place.before, files))
		return l, changes, err
	}
	result, committed, beside, err := a.gitEffects(ctx, candidate)
	if err != nil {
		return l, nil, err
	}
	if l, err = a.lookAtCommit(ctx, "after", result, beside); err != nil {
		return l, nil, err
	}
	changes, err = surfaces(append(committed, beside...))
	return l, changes, err
}

// lookAtFiles is a look at the plain directory of an artifact task; when tells an attempt's two looks apart.
func (a *attempt) lookAtFiles(when string, files map[string]string) (look, error) {
	digest, err := canonjson.DigestOf(files)
	return look{ref: fmt.Sprintf("files:%s/%s", a.ExecutionID, when), sha256: digest, at: time.Now().UTC()}, err
}

// lookAtCommit is a look at a commit's whole tree and at what lies beside it in the worktree.
func (a *attempt) lookAtCommit(ctx context.Context, when, commit string, beside []effect) (look, error) {
	out, err := a.repo.run(ctx, "rev-parse", "--verify", "--quiet", commit+"^{tree}")
	if err != nil {
		return look{}, err
	}
	state := oneLine(out)
	for _, e := range beside {
		state += "\x00" + e.effect + " " + e.path
	}
	return look{ref: fmt.Sprintf("git:%s/%s/%s", a.ExecutionID, when, commit), sha256: canonjson.Digest([]byte(state)), at: time.Now().UTC()}, nil
}

// effect is one changed path and what happened to it.
type effect struct{ path, effect string }

// fileEffects compares two observations of a directory, see observeFiles.
func fileEffects(before, after map[string]string) []effect {
	found := []effect{}
	for _, p := range differing(before, after) {
		_, was := before[p]
		_, is := after[p]
		switch {
		case !was:
			found = append(found, effect{p, effectCreate})
		case !is:
			found = append(found, effect{p, effectDelete})
		default:
			found = append(found, effect{p, effectWrite})
		}
	}
	return found
}

// surfaces writes effects as the contract names them, sorted. Everything that differs in an attempt's own
// place is the run's doing.
func surfaces(found []effect) ([]workflow.SurfaceChange, error) {
	if len(found) > maxChanges {
		return nil, failf("too_many_changes", "%d paths changed, an observation can name %d", len(found), maxChanges)
	}
	changes := []workflow.SurfaceChange{}
	for _, e := range found {
		if !utf8.ValidString(e.path) {
			return nil, failf("surface_inexpressible", "the path of a changed file is no UTF-8")
		}
		surface := capability.Surface{Path: e.path, Effect: e.effect}.String()
		if utf8.RuneCountInString(surface) > maxSurface {
			return nil, failf("surface_inexpressible", "the path of a changed file is too long")
		}
		if !slices.ContainsFunc(changes, func(c workflow.SurfaceChange) bool { return c.Surface == surface }) {
			changes = append(changes, workflow.SurfaceChange{Surface: surface, RunOwned: new(true)})
		}
	}
	slices.SortFunc(changes, func(a, b workflow.SurfaceChange) int { return strings.Compare(a.Surface, b.Surface) })
	switch data, err := canonjson.Marshal(changes); {
	case err != nil:
		return nil, err
	case len(data) > maxChangesBytes:
		return nil, failf("too_many_changes", "the changed paths take %d bytes, an observation has %d for them", len(data), maxChangesBytes)
	}
	return changes, nil
}

// watched are those of the surfaces whose side effect such a comparison shows.
func watched(allowed []string) []string {
	seen := []string{}
	for _, text := range allowed {
		s, err := capability.ParseSurface(text)
		if err == nil && slices.Contains([]string{effectCreate, effectWrite, effectDelete}, s.Effect) {
			seen = append(seen, text)
		}
	}
	return seen
}
