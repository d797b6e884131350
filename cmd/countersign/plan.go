// countersign plan: tasks from a plan.

package main

import (
	"errors"
	"io"

	"countersign/contracts"
	"countersign/contracts/planning"
)

type planCommands struct {
	Load planLoad `cmd:"" help:"Make a task of every step of a plan."`
}

type planLoad struct {
	projectFlag
	File string `arg:"" help:"The plan, YAML; - for standard input."`
}

// Help is shown by --help.
func (planLoad) Help() string {
	return `The whole plan is checked before the first task is made: a refused plan loads nothing. A step that is a task of the
project already, unchanged, is not made again, so that a load which broke off is repeated with the same command.
Exit status: 0 loaded, 2 refused (field and reason are said), 1 broken off.

Example:

  countersign plan load plan.yaml`
}

// planResult is what load prints: loaded, incomplete with what became of each step, or refused.
type planResult struct {
	Outcome string       `json:"outcome"`
	Field   string       `json:"field,omitzero"`
	Reason  string       `json:"reason,omitzero"`
	Steps   []loadedStep `json:"steps,omitzero"`
}

type loadedStep struct {
	Step string `json:"step"`
	loadedEntry
}

// Run loads the plan.
func (c *planLoad) Run(s *session) error {
	entries, err := c.parse(s)
	if err != nil {
		return err
	}
	r, project, err := c.remote(s)
	if err != nil {
		return err
	}
	loaded, err := s.load(r, project, entries)
	if loaded == nil {
		return err
	}
	result := planResult{Outcome: "loaded"}
	if err != nil {
		result.Outcome = "incomplete"
		err = brokenOff(loaded, "steps", func(i int) string { return entries[i].At }, err)
	}
	for i, l := range loaded {
		result.Steps = append(result.Steps, loadedStep{entries[i].At, l})
	}
	printed := s.print(result, func() error {
		rows := make([][]string, 0, len(result.Steps))
		for _, step := range result.Steps {
			rows = append(rows, append([]string{step.Step}, step.row()...))
		}
		return s.out.Table([]string{"STEP", "TASK", "OUTCOME", "TITLE"}, rows)
	})
	return errors.Join(printed, err)
}

func (c *planLoad) parse(s *session) ([]planning.Entry, error) {
	in, err := s.openInput(c.File)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	data, err := io.ReadAll(io.LimitReader(in, planning.MaxBytes+1))
	if err != nil {
		return nil, &statusError{exitRefused, about(c.File, err)}
	}
	entries, err := planning.ParsePlan(data)
	refusal, ok := errors.AsType[*contracts.Error](err)
	if ok && s.json() {
		if err := s.out.JSON(planResult{Outcome: "refused", Field: refusal.Path, Reason: refusal.Detail}); err != nil {
			return nil, err
		}
	}
	return entries, about(c.File, err)
}
