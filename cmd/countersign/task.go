// countersign task: add, list, get, cancel.

package main

import (
	"fmt"
	"strings"
	"time"

	"countersign/contracts"
	"countersign/contracts/workflow"
)

type taskCommands struct {
	Add    taskAdd    `cmd:"" help:"Add a task to a project."`
	List   taskList   `cmd:"" help:"List a project's tasks, newest first."`
	Get    taskGet    `cmd:"" help:"Show one task."`
	Cancel taskCancel `cmd:"" help:"Cancel an open task that no active revision has."`
}

type taskAdd struct {
	projectFlag
	Title      string   `arg:"" help:"At most 200 characters."`
	Goal       string   `xor:"goal" placeholder:"TEXT" help:"What is to be reached. Default: the title."`
	GoalFile   string   `xor:"goal" placeholder:"FILE" help:"The goal from a file, - for standard input."`
	Repository string   `placeholder:"URL" help:"Default: the project's."`
	Label      []string `sep:"none" placeholder:"LABEL" help:"A label; may be repeated."`
	artifactFlags
}

// Help is shown by --help.
func (taskAdd) Help() string {
	return `Examples:

  countersign task add "Fix the flaky upload test"
  countersign task add "Write the importer" --goal-file goal.md --label importer
  ID=$(countersign task add "Try it" --output json | jq -r .id)
  countersign task add "Produce the weekly report" --artifact-kind report --artifact-output reports/weekly.md \
    --artifact-criterion figures_grounded:strict`
}

// Run adds the task.
func (c *taskAdd) Run(s *session) error {
	spec, err := c.declaration(s)
	if err != nil {
		return err
	}
	r, project, err := c.remote(s)
	if err != nil {
		return err
	}
	goal := c.Goal
	if c.GoalFile != "" {
		data, err := s.readInput(c.GoalFile)
		if err != nil {
			return err
		}
		goal = string(data)
	}
	if goal == "" {
		goal = c.Title
	}
	task, err := r.CreateTask(s.ctx, project, workflow.CreateTask{
		Title: c.Title, Goal: goal, Repository: c.Repository, Labels: c.Label, ArtifactSpec: spec,
	})
	if err != nil {
		return err
	}
	return s.printTask(task)
}

type taskList struct {
	projectFlag
	Status string `enum:",open,done,failed,refused,cancelled" default:"" placeholder:"STATUS" help:"Only tasks that are open, done, failed, refused or cancelled."`
	Limit  int    `default:"50" help:"How many, 1 to 100."`
	After  string `placeholder:"CURSOR" help:"Go on after the page before (its next_after)."`
}

// Run lists one page.
func (c *taskList) Run(s *session) error {
	r, project, err := c.remote(s)
	if err != nil {
		return err
	}
	list, err := r.Tasks(s.ctx, workflow.TaskQuery{
		ProjectID: project, Status: workflow.TaskStatus(c.Status), Limit: c.Limit, After: c.After,
	})
	if err != nil {
		return err
	}
	return s.print(list, func() error {
		rows := make([][]string, 0, len(list.Tasks))
		for _, t := range list.Tasks {
			rows = append(rows, []string{t.ID, string(t.Status), phaseOf(t), age(t.UpdatedAt), artifactOf(t), t.Title})
		}
		if err := s.out.Table([]string{"ID", "STATUS", "PHASE", "UPDATED", "ARTIFACT", "TITLE"}, rows); err != nil {
			return err
		}
		if list.NextAfter != nil {
			s.out.Println("more: --after " + *list.NextAfter)
		}
		return nil
	})
}

type taskGet struct {
	Task string `arg:"" help:"The task's id."`
}

// Run shows the task.
func (c *taskGet) Run(s *session) error {
	_, task, err := s.task(c.Task)
	if err != nil {
		return err
	}
	return s.printTask(task)
}

type taskCancel struct {
	Task            string `arg:"" help:"The task's id."`
	ExpectedVersion int    `placeholder:"N" help:"Refuse when the task has another version. Default: the one it has."`
}

// Run cancels.
func (c *taskCancel) Run(s *session) error {
	r, task, err := s.task(c.Task)
	if err != nil {
		return err
	}
	cancelled := workflow.TaskCancelled
	edit := workflow.PatchTask{ExpectedVersion: task.Version, Status: &cancelled}
	if c.ExpectedVersion != 0 {
		edit.ExpectedVersion = c.ExpectedVersion
	}
	done, err := r.PatchTask(s.ctx, task.ProjectID, task.ID, edit)
	if contracts.CodeOf(err) == contracts.CodeManagedByWorkflow && task.Workflow != nil && !task.Workflow.Phase.Final() {
		err = fmt.Errorf("%w: countersign workflow cancel %s", err, task.ID)
	}
	if err != nil {
		return err
	}
	return s.printTask(done)
}

// task is the server and a task on it.
func (s *session) task(id string) (r remote, t workflow.Task, err error) {
	if err := checkID("task", id); err != nil {
		return r, t, err
	}
	if r, err = s.remote(); err != nil {
		return r, t, err
	}
	t, err = r.Task(s.ctx, id)
	return r, t, err
}

func (s *session) printTask(t workflow.Task) error {
	return s.print(t, func() error {
		pairs := []string{
			"task", t.ID, "title", t.Title, "goal", t.Goal, "status", string(t.Status), "why", t.TerminalReason,
			"result", deref(t.ResultSummary), "phase", phaseOf(t), "project", t.ProjectID, "repository", t.Repository,
			"labels", strings.Join(t.Labels, ", "), "version", fmt.Sprint(t.Version), "updated", stamp(t.UpdatedAt),
		}
		if t.Workflow != nil {
			pairs = append(pairs, refusalFields(t.Workflow.Refusal)...)
		}
		return s.out.Fields(append(pairs, declared(t)...)...)
	})
}

// phaseOf is the phase of the current revision with its reason, "-" for a task that has none.
func phaseOf(t workflow.Task) string {
	switch {
	case t.Workflow == nil:
		return "-"
	case t.Workflow.Reason != nil:
		return fmt.Sprintf("%s (%s)", t.Workflow.Phase, *t.Workflow.Reason)
	case t.Workflow.LeaseExpired:
		return fmt.Sprintf("%s (lease over)", t.Workflow.Phase)
	}
	return string(t.Workflow.Phase)
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func stamp(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05 -0700") }

// age is how long ago t was, in the largest unit that fits.
func age(t time.Time) string {
	switch d := time.Since(t); {
	case d < time.Minute:
		return fmt.Sprintf("%ds ago", max(int(d.Seconds()), 0))
	case d < time.Hour:
		return fmt.Sprintf("%dm ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh ago", int(d.Hours()))
	default:
		return fmt.Sprintf("%dd ago", int(d.Hours()/24))
	}
}
