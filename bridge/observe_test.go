// What changed, as git and as the files of a directory tell it.

package bridge

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"countersign/contracts/capability"
	"countersign/contracts/workflow"

	"github.com/stretchr/testify/require"
)

var stageTime = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func TestGitEffects(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.write("moved.txt", "a line that stays\nand another\n")
	r.write("tool.sh", "#!/bin/sh\n")
	r.write("gone.txt", "x")
	r.write("link", "x")
	base := r.commit("Base")
	r.git("mv", "moved.txt", "new place.txt")
	r.git("rm", "--quiet", "gone.txt")
	r.write("src/a.txt", "b\n")
	r.write("new\nline", "x")
	r.write("emp/ty", "")
	require.NoError(t, os.Chmod(filepath.Join(r.dir, "tool.sh"), 0o755))
	require.NoError(t, os.Remove(filepath.Join(r.dir, "link")))
	require.NoError(t, os.Symlink("README.md", filepath.Join(r.dir, "link")))
	result := r.commit("Result")
	git, err := findGit(t.Context())
	require.NoError(t, err)
	repo, err := openRepository(t.Context(), git, r.dir)
	require.NoError(t, err)
	found, err := repo.effects(t.Context(), base, result)
	require.NoError(t, err)
	require.ElementsMatch(t, []effect{
		{"moved.txt", "delete"}, {"new place.txt", "create"}, {"gone.txt", "delete"}, {"src/a.txt", "write"},
		{"new\nline", "create"}, {"emp/ty", "create"}, {"tool.sh", "write"}, {"link", "write"},
	}, found)
	found, err = repo.effects(t.Context(), base, base)
	require.NoError(t, err)
	require.Empty(t, found)
}

func TestFileEffects(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, content string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644))
	}
	for _, name := range []string{"same", "deep/changed", "gone", "mode", "link"} {
		write(name, name)
	}
	before, err := observeFiles(t.Context(), dir)
	require.NoError(t, err)
	write("deep/changed", "otherwise")
	write("deep/new", "")
	require.NoError(t, os.Remove(filepath.Join(dir, "gone")))
	require.NoError(t, os.Chmod(filepath.Join(dir, "mode"), 0o600))
	require.NoError(t, os.Remove(filepath.Join(dir, "link")))
	require.NoError(t, os.Symlink("same", filepath.Join(dir, "link")))
	after, err := observeFiles(t.Context(), dir)
	require.NoError(t, err)
	require.Equal(t, []effect{{"deep/changed", "write"}, {"deep/new", "create"}, {"gone", "delete"}, {"link", "write"}, {"mode", "write"}}, fileEffects(before, after))
	require.Empty(t, fileEffects(after, after))
}

func TestSurfaces(t *testing.T) {
	t.Parallel()
	changes, err := surfaces([]effect{{"b", "write"}, {"a", "create"}, {"b", "write"}})
	require.NoError(t, err)
	require.Equal(t, []workflow.SurfaceChange{{Surface: "repo:a:create", RunOwned: new(true)}, {Surface: "repo:b:write", RunOwned: new(true)}}, changes)
	_, err = surfaces([]effect{{"a\xff", "write"}})
	require.ErrorContains(t, err, "surface_inexpressible")
	_, err = surfaces([]effect{{strings.Repeat("é", maxSurface), "write"}})
	require.ErrorContains(t, err, "surface_inexpressible")
	many := make([]effect, maxChanges+1)
	for i := range many {
		many[i] = effect{fmt.Sprint(i), "write"}
	}
	_, err = surfaces(many)
	require.ErrorContains(t, err, "too_many_changes")
	changes, err = surfaces(many[:maxChanges])
	require.NoError(t, err)
	require.Len(t, changes, maxChanges)
	for i := range many {
		many[i].path = fmt.Sprintf("%s%04d", strings.Repeat("a", 600), i)
	}
	_, err = surfaces(many[:maxChanges])
	require.ErrorContains(t, err, "too_many_changes", "an event of that size is not taken")
	require.Equal(t, []string{"repo:a:create", "repo:b:write", "repo:c:delete"},
		watched([]string{"repo:a:create", "repo:b:write", "repo:c:delete", "repo:d:execute", "other:e:write", "repo:../f:write"}),
		"what a comparison cannot show was not watched")
}

func TestRegistrationBecomesAReport(t *testing.T) {
	t.Parallel()
	register := func(script string) *capability.Report {
		job := Job{Attempt: 1, Plan: workflow.Plan{Prompt: script, Workflow: workflow.PlanWorkflow{Purpose: workflow.PurposeWork}}}
		r := synthetic{version: "1.0"}.Register(job, 1).report(stageTime)
		return r
	}
	good := register("Do it.")
	require.True(t, good.SessionIdentity.Complete())
	require.Equal(t, "2026-03-04T12:00:00Z", good.CapturedAt)
	require.Len(t, good.Discovery.Candidates, 1)
	require.NoError(t, capability.Admissible(good.Discovery.Candidates[0]))
	require.Equal(t, capability.CaptureStartupRegistration, good.Discovery.CaptureMethod)
	require.Equal(t, capability.CompletenessConfirmed, good.Discovery.SchemaCompleteness)
	require.Equal(t, capability.CapacityAvailable, good.Capacity)
	odd := register(`{"synthetic":{"session":{"work":[{"surface":"failed","incomplete":true,"nameless":true,"capacity":["error"],"isolation":"inherited","model":"supported",
		"selection":"b","tools":[{"id":"a","description":"password: hunter2hunter2 <b>","directive":true,"eligible":null},{"id":"b","description":"","directive":null,"eligible":false}]}]}}}`)
	require.False(t, odd.SessionIdentity.Complete())
	require.Equal(t, capability.DiscoveryFailed, odd.Discovery.Surface)
	require.Equal(t, "unconfirmed", odd.Discovery.SchemaCompleteness)
	require.Equal(t, capability.CapacityError, odd.Capacity)
	require.Equal(t, "b", odd.Discovery.Selection.Winner)
	require.NotContains(t, odd.Discovery.Candidates[0].Excerpt, "hunter2")
	require.Nil(t, odd.Discovery.Candidates[0].Eligibility.BoundedStop)
	require.False(t, *odd.Discovery.Candidates[1].Eligibility.BoundedStop)
	require.Equal(t, good.Discovery, register(`{"synthetic":{"work":[[{"fly":true}]]}}`).Discovery, "a broken scenario is the agent's to report")
	for version, want := range map[string]string{"": "devel", "(devel)": "devel", "v1.2.3": "v1.2.3"} {
		require.Equal(t, want, hostVersion(version))
	}
}

// TestSessionScriptsRepeatTheLast, attempt by attempt and report by report.
func TestSessionScriptsRepeatTheLast(t *testing.T) {
	t.Parallel()
	s, err := parseScenario(`{"synthetic":{"session":{"verify":[{"capacity":["limited","available"]},{"capacity":["error"]}]}}}`)
	require.NoError(t, err)
	capacity := func(p workflow.Purpose, attempt, try int) capability.Capacity {
		r := Registration{Capacity: "own"}
		s.session(p, attempt).change(&r, try)
		return r.Capacity
	}
	require.Equal(t, capability.CapacityLimited, capacity(workflow.PurposeVerify, 1, 1))
	require.Equal(t, capability.CapacityAvailable, capacity(workflow.PurposeVerify, 1, 2))
	require.Equal(t, capability.CapacityAvailable, capacity(workflow.PurposeVerify, 1, 7))
	require.Equal(t, capability.CapacityError, capacity(workflow.PurposeVerify, 5, 1))
	require.Equal(t, capability.Capacity("own"), capacity(workflow.PurposeWork, 1, 1))
	_, err = parseScenario(`{"synthetic":{"session":{"work":[{"mood":"bad"}]}}}`)
	require.ErrorContains(t, err, "broken scenario")
}

// TestAnUnboundAttemptSaysNothingOfIt: the events are as they always were.
func TestAnUnboundAttemptSaysNothingOfIt(t *testing.T) {
	s := newStage(t)
	s.dispatch("x")
	s.run()
	s.server.settled(workflow.PhaseAccepted)
	for _, c := range s.server.called("events") {
		for _, word := range []string{"capability_report", "pre_observation", "post_observation", "live"} {
			require.False(t, strings.Contains(c.body, word), c.body)
		}
	}
}
