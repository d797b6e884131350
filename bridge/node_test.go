// The node from offer to verdict.

package bridge

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"countersign/contracts/workflow"

	"github.com/stretchr/testify/require"
)

func TestWorkAndVerify(t *testing.T) {
	s := newStage(t)
	s.dispatch("Please write a note.")
	s.run()
	s.server.settled(workflow.PhaseAccepted)

	worker, verifier := s.server.attempt(0), s.server.attempt(1)
	result := *worker.events[2].ResultCommit
	require.Equal(t, result, s.repo.git("rev-parse", "task/one"), "the branch was moved to the candidate")
	require.Equal(t, result, s.repo.git("rev-parse", candidateRefs+worker.id))
	require.Equal(t, evidencePath(worker.id), *worker.events[2].EvidencePath)
	require.Contains(t, s.repo.git("show", result+":"+evidencePath(worker.id)), worker.session)
	require.Equal(t, s.repo.base, s.repo.git("rev-parse", result+"~2"), "one commit of the worker, one of the bridge")
	require.Contains(t, s.repo.git("show", evidenceRefs+verifier.id+":"+evidencePath(verifier.id)), `"outcome": "pass"`)
	require.NotEqual(t, worker.session, verifier.session)
	require.Equal(t, result, *verifier.events[2].ResultCommit)
	s.cleared()
}

func TestFailThenCorrection(t *testing.T) {
	s := newStage(t)
	s.dispatch(script(t, scenario{Verify: [][]scriptStep{
		{{Verdict: map[string]judgement{"tests": {Outcome: "fail", Feedback: "The empty case is not tested."}}}},
		{{Verdict: map[string]judgement{}}},
	}}))
	s.run()
	s.server.settled(workflow.PhaseAccepted)
	require.Len(t, s.server.attempts, 4)
	first, second := s.server.attempt(0), s.server.attempt(2)
	require.Equal(t, *first.events[2].ResultCommit, second.base, "the correction starts at the rejected candidate")
	tip := s.repo.git("rev-parse", "task/one")
	require.Equal(t, *second.events[2].ResultCommit, tip)
	note := s.repo.git("show", tip+":notes/"+s.server.plan.TaskID+".md")
	require.Contains(t, note, "The empty case is not tested.")
	require.Contains(t, note, "Attempt 2.")
	require.Equal(t, 2, strings.Count(s.repo.git("ls-tree", "-r", "--name-only", tip, ".countersign/"), "\n")+1)
	s.cleared()
}

// A workspace that is no directory is refused at start; one that is no repository serves artifact tasks,
// and the log says so.
func TestWorkspacesAreLookedAtAtStart(t *testing.T) {
	s := newStage(t)
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	o := s.opts
	o.Workspaces = []string{file}
	_, err := New(o)
	require.ErrorContains(t, err, file+": is not a directory")

	plain := t.TempDir()
	s.opts.Workspaces = append(s.opts.Workspaces, plain)
	s.dispatch("Please write a note.")
	s.run()
	s.server.settled(workflow.PhaseAccepted)
	require.Regexp(t, `level=WARN msg="workspace is not a Git repository[^\n]*workspace=`+regexp.QuoteMeta(plain), s.log.String())
	require.NotContains(t, s.log.String(), "workspace="+s.repo.dir)
}
