// The synthetic agent: a provider's process that does what a scenario says, or something sensible.

package bridge

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"

	"countersign/contracts/workflow"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
)

// SyntheticAgent is the whole of the synthetic provider: it reads a job from stdin, works in dir and
// prints events on stdout, one JSON object a line. It returns the process's exit status.
func SyntheticAgent(stdin io.Reader, stdout, stderr io.Writer, dir string) int {
	a := &agent{stdout: stdout, stderr: stderr, dir: dir}
	var job syntheticJob
	data, err := io.ReadAll(stdin)
	if err == nil {
		err = json.Unmarshal(data, &job)
	}
	if err != nil {
		fmt.Fprintln(stderr, "no job on standard input:", err)
		return 2
	}
	a.job = job
	if job.Child != nil {
		hang(job.Child.IgnoreSigterm)
	}
	if err := a.run(); err != nil {
		if stop, ok := errors.AsType[exitStatus](err); ok {
			return int(stop)
		}
		a.print(syntheticEvent{Type: "result", Error: err.Error()})
		return 1
	}
	return 0
}

// agent is one running job.
type agent struct {
	stdout, stderr io.Writer
	dir            string
	job            syntheticJob
	answer         Answer
}

// exitStatus ends the agent with a status and no further word.
type exitStatus int

func (s exitStatus) Error() string { return fmt.Sprintf("exit %d", int(s)) }

func (a *agent) run() error {
	script, err := parseScenario(a.job.Prompt)
	steps := script.steps(a.job.Purpose, a.job.Attempt)
	session := uuid.NewString()
	if len(steps) > 0 && steps[0].Session != nil {
		session, steps = *steps[0].Session, steps[1:]
	}
	if session != "" {
		a.print(syntheticEvent{Type: "session", SessionID: session})
	}
	if err != nil {
		return err
	}
	switch {
	case steps != nil:
		err = a.play(steps)
	case a.job.Purpose == workflow.PurposeVerify:
		err = a.judge(nil)
	default:
		err = a.work()
	}
	if err != nil {
		return err
	}
	a.print(syntheticEvent{Type: "result", OK: true, Answer: a.answer})
	return nil
}

func (a *agent) print(e syntheticEvent) {
	line, err := json.Marshal(e)
	if err != nil {
		fmt.Fprintln(a.stderr, err)
		return
	}
	_, _ = a.stdout.Write(append(line, '\n'))
}

// work is the default worker: it records the goal, and what a correction was asked for, in a file.
func (a *agent) work() error {
	if a.job.Artifact != nil {
		return a.produce()
	}
	if !a.job.MayWrite {
		a.answer.Summary = "Read the goal; the dispatch allows no change."
		return nil
	}
	var text strings.Builder
	fmt.Fprintf(&text, "# Task %s\n\n%s\n\nAttempt %d.\n", a.job.TaskID, a.job.Goal, a.job.Attempt)
	for _, f := range a.job.Feedback {
		if f.Outcome != workflow.CriterionPass {
			fmt.Fprintf(&text, "\n- %s: %s\n", f.CriterionID, f.Feedback)
		}
	}
	file := "notes/" + fileName(a.job.TaskID) + ".md"
	if err := a.write(editStep{Path: file, Content: text.String()}); err != nil {
		return err
	}
	if err := a.commit("Record the goal of task " + a.job.TaskID); err != nil {
		return err
	}
	a.answer.Summary = "Recorded the goal in " + file + "."
	return nil
}

// fileName keeps of an id what is safe in a path.
func fileName(id string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x80 && (r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z') {
			return r
		}
		return '_'
	}, id)
}

// judge is the default verifier: a criterion passes when the candidate is what it claims to be,
// unless the scenario says otherwise.
func (a *agent) judge(said map[string]judgement) error {
	for _, id := range slices.Sorted(maps.Keys(said)) {
		if !slices.ContainsFunc(a.job.Criteria, func(c workflow.Criterion) bool { return c.ID == id }) {
			return fmt.Errorf("the scenario's verdict names %q, which is no criterion of the task", id)
		}
	}
	found, err := a.examine()
	outcome := workflow.CriterionPass
	if err != nil {
		outcome, found = workflow.CriterionFail, err.Error()
	}
	for _, c := range a.job.Criteria {
		claim := CriterionClaim{CriterionID: c.ID, Outcome: outcome, Feedback: found}
		if j, ok := said[c.ID]; ok {
			claim.Outcome, claim.Feedback = j.Outcome, j.Feedback
		}
		a.answer.Results = append(a.answer.Results, claim)
	}
	return nil
}

// examine looks at the candidate itself rather than at what the worker says of it.
func (a *agent) examine() (string, error) {
	if a.job.Artifact != nil {
		return a.examineArtifact()
	}
	candidate := a.job.BaseCommit
	head, err := a.git("rev-parse", "HEAD^{commit}")
	if err != nil {
		return "", err
	}
	if head != candidate {
		return "", fmt.Errorf("the checkout is at %s, not at candidate %s", head, candidate)
	}
	if candidate == a.job.FrozenBaseCommit {
		return "Candidate " + candidate + " exists; it is the base itself, nothing was to be changed.", nil
	}
	out, err := a.git("diff", "--name-only", a.job.FrozenBaseCommit, candidate)
	if err != nil {
		return "", err
	}
	var changed []string
	evidence := ""
	for _, name := range strings.Split(out, "\n") {
		switch {
		case a.job.WorkerExecutionID != nil && name == evidencePath(*a.job.WorkerExecutionID):
			evidence = name
		case name != "" && !strings.HasPrefix(name, evidenceDir+"/"):
			changed = append(changed, name)
		}
	}
	if evidence == "" {
		return "", fmt.Errorf("candidate %s holds no evidence of its worker", candidate)
	}
	if len(changed) == 0 {
		return "", fmt.Errorf("candidate %s changes nothing", candidate)
	}
	return fmt.Sprintf("Synthetic session: nothing was judged but that candidate %s exists and changes %s.", candidate, listed(changed)), nil
}

// git runs the git of the agent's PATH in the worktree.
func (a *agent) git(args ...string) (string, error) {
	cmd := exec.Command("git", append([]string{
		"-c", "user.name=synthetic agent", "-c", "user.email=agent@countersign.invalid",
	}, args...)...)
	cmd.Dir, cmd.Env = a.dir, os.Environ()
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(string(exit.Stderr)))
	}
	if err != nil {
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return strings.TrimSpace(string(out)), nil
}

func (a *agent) commit(message string) error {
	if _, err := a.git("add", "--all"); err != nil {
		return err
	}
	_, err := a.git("commit", "--quiet", "--no-verify", "--message", message)
	return err
}
