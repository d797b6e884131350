// Attempts that do not go well, and what is left of them.

package bridge

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"countersign/contracts/workflow"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
)

func crash(c crashStep) scriptStep { return scriptStep{Crash: &c} }

func session(id string) scriptStep { return scriptStep{Session: &id} }

// ends runs one attempt and checks how it was reported.
func (s *stage) ends(phase workflow.AttemptPhase, reason string) fakeAttempt {
	s.Helper()
	s.run()
	s.server.settled(workflow.PhaseBlocked)
	a := s.server.attempt(len(s.server.attempts) - 1)
	s.Equal(phase, a.phase, a.reason)
	require.True(s.T, strings.HasPrefix(a.reason, reason), "reason %q, want %q", a.reason, reason)
	s.cleared()
	return a
}

func TestWorkFails(t *testing.T) {
	t.Parallel()
	done := []scriptStep{edit("b.txt", "b"), commit("Add b")}
	for name, c := range map[string]struct {
		steps  []scriptStep
		reason string
	}{
		"dirty":              {[]scriptStep{dirty("open")}, "dirty_workspace: left-over.txt"},
		"nothing":            {[]scriptStep{}, "no_change"},
		"nothing in the end": {append(done, scriptStep{Delete: new("b.txt")}, commit("Drop b")), "no_change"},
		"no terminal event":  {append(done, crash(crashStep{})), "provider_no_result"},
		"bad exit":           {append(done, crash(crashStep{Exit: 3, AfterResult: true})), "provider_exit: status 3"},
		"killed":             {append(done, crash(crashStep{Signal: 9, AfterResult: true})), "provider_killed: killed"},
		"own error":          {[]scriptStep{edit("../x", "")}, "provider_error: the agent reported an error: step 1"},
		"no session":         {append([]scriptStep{session("")}, done...), "provider_no_session"},
		"two sessions":       {append(done, session("another")), "provider_error: the session id changed"},
		"used session":       {append([]scriptStep{session("used-before")}, done...), "event_refused: session_reused"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.server.sessions["used-before"] = true
			s.dispatch(work(t, c.steps...))
			a := s.ends(workflow.AttemptFailed, c.reason)
			require.Empty(t, s.repo.git("for-each-ref", "refs/countersign/candidate", "refs/heads/task"), "no candidate and no branch")
			if len(c.steps) > 1 && name != "used session" {
				require.NotEmpty(t, s.repo.git("rev-parse", abandonedRefs+a.id), "commits are kept")
			}
		})
	}
}

func TestBrokenScenario(t *testing.T) {
	s := newStage(t)
	s.dispatch(`{"synthetic":{"work":[[{"fly":true}]]}}`)
	s.ends(workflow.AttemptFailed, "provider_error: the agent reported an error: broken scenario")
}

func TestRefusal(t *testing.T) {
	s := newStage(t)
	refusal := `{"contract":"worker-completion/v1","kind":"underspecified","detail":"Too vague.","question":"Which file?"}`
	s.dispatch(work(t, scriptStep{Refuse: jsontext.Value(refusal)}))
	s.ends(workflow.AttemptFailed, "refused")
	require.JSONEq(t, refusal, string(s.server.attempt(0).events[2].Refusal))
}

func TestCompletionPayload(t *testing.T) {
	s := newStage(t)
	completion := `{"contract":"worker-completion/v1","summary":"Added b.","files_changed":["b.txt"]}`
	s.dispatch(work(t, edit("b.txt", "b"), commit("Add b"), scriptStep{Completion: jsontext.Value(completion)}))
	s.run()
	s.server.settled(workflow.PhaseAccepted)
	done := s.server.attempt(0).events[2]
	require.JSONEq(t, completion, string(done.Completion))
	require.Nil(t, done.ResultSummary)
}

func TestVerifierFails(t *testing.T) {
	t.Parallel()
	pass := scriptStep{Verdict: map[string]judgement{}}
	for name, c := range map[string]struct {
		steps  []scriptStep
		reason string
	}{
		"no verdict":    {[]scriptStep{}, "verdict_missing"},
		"incomplete":    {[]scriptStep{{Results: []CriterionClaim{{"tests", "pass", "They pass."}}}}, `verdict_invalid: criterion "docs" is not judged`},
		"edits":         {[]scriptStep{edit("README.md", "better"), pass}, "workspace_modified: README.md"},
		"ignored files": {[]scriptStep{dirty("ignored"), pass}, "workspace_modified: ignored.log"},
		"commits":       {[]scriptStep{edit("README.md", "better"), commit("Improve"), pass}, "workspace_modified: HEAD moved"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.dispatch(script(t, scenario{Verify: [][]scriptStep{c.steps}}))
			a := s.ends(workflow.AttemptFailed, c.reason)
			require.Equal(t, workflow.PurposeVerify, a.purpose)
			require.Empty(t, s.repo.git("for-each-ref", "refs/countersign/evidence"))
		})
	}
}

func TestVerifierNeverAnswersForTheBridge(t *testing.T) {
	s := newStage(t)
	// What a verifier says of ids, commits and paths is not read.
	s.dispatch(`{"synthetic":{"verify":[[{"emit":{"text":"{\"type\":\"note\",\"candidate_commit\":\"0000\"}"}},{"verdict":{}}]]}}`)
	s.run()
	s.server.settled(workflow.PhaseAccepted)
	v := s.server.attempt(1).events[2].Verdict
	require.Equal(t, s.server.attempt(0).id, v.WorkerExecutionID)
	require.Equal(t, evidencePath(s.server.attempt(1).id), v.Results[0].EvidencePath)
}

func TestReadOnlyWorker(t *testing.T) {
	s := newStage(t)
	s.server.dispatch(dispatch{workspace: s.repo.dir, branch: "task/one", base: s.repo.base, prompt: "Look around.", readOnly: true})
	s.run()
	s.server.settled(workflow.PhaseAccepted)
	a := s.server.attempt(0)
	require.Equal(t, s.repo.base, *a.events[2].ResultCommit)
	require.Contains(t, s.repo.git("show", evidenceRefs+a.id+":"+evidencePath(a.id)), `"purpose": "work"`)
	require.Empty(t, s.repo.git("for-each-ref", "refs/heads/task", "refs/countersign/candidate"))
	s.cleared()
}

func TestForbiddenMutation(t *testing.T) {
	s := newStage(t)
	s.server.dispatch(dispatch{workspace: s.repo.dir, branch: "task/one", base: s.repo.base, readOnly: true, prompt: work(t, edit("b.txt", "b"), commit("Add b"))})
	s.ends(workflow.AttemptFailed, "mutation_forbidden")
}

func TestPlanRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(s *stage, d *dispatch)
		reason string
	}{
		"base missing": {func(_ *stage, d *dispatch) { d.base = strings.Repeat("b", 40) }, "base_missing"},
		"base is a tag": {func(s *stage, d *dispatch) {
			s.repo.git("tag", "-am", "x", "v1")
			d.base = s.repo.git("rev-parse", "v1")
		}, "base_missing"},
		"workspace outside": {func(s *stage, d *dispatch) { d.workspace = filepath.Dir(s.repo.dir) }, "workspace_refused"},
		"symlink out": {func(s *stage, d *dispatch) {
			d.workspace = s.repo.dir + "/out"
			s.NoError(os.Symlink(newRepo(s.T).dir, d.workspace))
		}, "workspace_refused"},
		"branch":   {func(_ *stage, d *dispatch) { d.branch = "a..b" }, "branch_invalid"},
		"runtime":  {func(_ *stage, d *dispatch) { d.runtime = workflow.RuntimeCodexCLI }, "runtime_unavailable: codex_cli"},
		"artifact": {func(_ *stage, d *dispatch) { d.artifact = `{"kind":"report","output_path":"../r.md"}` }, "plan_invalid: artifact_spec"},
		"never clean": {func(s *stage, d *dispatch) {
			s.repo.write("crlf.txt", "a\r\n")
			s.repo.git("add", "--all")
			s.repo.write(".gitattributes", "*.txt text\n")
			s.repo.git("add", ".gitattributes")
			s.repo.git("commit", "--quiet", "-m", "Odd")
			d.base = s.repo.git("rev-parse", "HEAD")
		}, "base_not_clean"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			d := dispatch{workspace: s.repo.dir, branch: "task/one", base: s.repo.base, prompt: "x"}
			c.change(s, &d)
			s.server.dispatch(d)
			a := s.ends(workflow.AttemptFailed, c.reason)
			require.Len(t, a.events, 1, "failed right after the claim")
		})
	}
}

func TestBranchStays(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before func(r *repo)
		branch string
		log    string
	}{
		"checked out": {func(*repo) {}, "main", "is checked out in"},
		"conflicting": {func(r *repo) { r.git("branch", "task") }, "task/one", "branch was not moved"},
		"diverged": {func(r *repo) {
			r.git("checkout", "--quiet", "-b", "task/one")
			r.write("own.txt", "x")
			r.commit("Own")
			r.git("checkout", "--quiet", "main")
		}, "task/one", "has commits of its own"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			c.before(s.repo)
			before := s.repo.git("for-each-ref", "refs/heads")
			s.server.dispatch(dispatch{workspace: s.repo.dir, branch: c.branch, base: s.repo.base, prompt: "x"})
			s.run()
			s.server.settled(workflow.PhaseAccepted)
			s.cleared()
			require.Equal(t, before, s.repo.git("for-each-ref", "refs/heads"))
			require.Equal(t, s.server.candidate, s.repo.git("rev-parse", candidateRefs+s.server.attempt(0).id))
			require.Contains(t, s.log.String(), c.log)
			require.Empty(t, s.repo.git("status", "--porcelain"))
		})
	}
}

func TestHooksNeverRun(t *testing.T) {
	s := newStage(t)
	marker := filepath.Join(t.TempDir(), "marker")
	hooks := filepath.Join(s.repo.dir, ".git", "hooks")
	s.NoError(os.MkdirAll(hooks, 0o700))
	for _, name := range []string{
		"pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "post-checkout", "post-index-change",
		"reference-transaction", "pre-auto-gc", "post-rewrite", "fsmonitor-watchman",
	} {
		s.NoError(os.WriteFile(filepath.Join(hooks, name), []byte("#!/bin/sh\necho "+name+" >>"+marker+"\n"), 0o700))
	}
	s.repo.git("config", "core.hooksPath", hooks)
	s.repo.git("config", "core.fsmonitor", filepath.Join(hooks, "fsmonitor-watchman"))
	_ = os.Remove(marker) // the two commands above ran some
	s.dispatch("x")
	s.run()
	s.server.settled(workflow.PhaseAccepted)
	s.NoError(s.halt())
	require.NoFileExists(t, marker)
}

func TestNoSecretReachesTheAgent(t *testing.T) {
	s := newStage(t)
	s.dispatch(work(t, scriptStep{Environment: new("seen.txt")}, scriptStep{Emit: &emitStep{Text: "leaked " + testToken}},
		scriptStep{Emit: &emitStep{Text: "leaked " + testToken, Stderr: true}}, commit("Look")))
	s.run()
	s.server.settled(workflow.PhaseAccepted)
	s.NoError(s.halt())
	seen := s.repo.git("show", s.server.candidate+":seen.txt")
	require.Contains(t, seen, markerVariable+"=")
	require.Contains(t, seen, "PATH=")
	require.NotContains(t, seen, testToken)
	require.NotContains(t, seen, canary)
	// What an agent prints may hold the token if it was told it; what is kept of it does not.
	err := filepath.WalkDir(s.root, func(path string, d os.DirEntry, err error) error {
		s.NoError(err)
		if d.Type().IsRegular() && d.Name() != stateFile {
			data, err := os.ReadFile(path)
			s.NoError(err)
			require.NotContains(t, string(data), testToken, path)
		}
		return nil
	})
	s.NoError(err)
	require.NotContains(t, s.log.String(), testToken)
	logs, err := filepath.Glob(filepath.Join(s.root, "attempts", "*", "stream.log"))
	s.NoError(err)
	require.Len(t, logs, 2)
}

func TestLongOutputAndPrompt(t *testing.T) {
	s := newStage(t)
	large := strings.Repeat("ä", 100<<10)
	s.dispatch(work(t, scriptStep{Emit: &emitStep{Bytes: 12 << 20}}, scriptStep{Emit: &emitStep{Bytes: 3 << 20, Stderr: true}},
		edit("large.txt", large), commit("Large")))
	s.run()
	s.server.settled(workflow.PhaseAccepted)
	s.NoError(s.halt())
	require.Equal(t, large, s.repo.git("show", s.server.candidate+":large.txt"))
	kept, err := os.ReadFile(filepath.Join(s.root, "attempts", s.server.attempt(0).id, "stderr.log"))
	s.NoError(err)
	require.Len(t, kept, maxStderr)
}
