// countersign completion: a worker's terminal payload, checked without a server.

package main

import (
	"fmt"

	"countersign/contracts"
	"countersign/contracts/completion"

	"github.com/go-json-experiment/json/jsontext"
)

type completionCommands struct {
	Check     completionCheck     `cmd:"" help:"Judge a payload or a result summary by worker-completion/v1."`
	Followups completionFollowups `cmd:"" help:"Show the tasks that a refusal of scope leads to."`
}

type completionCheck struct {
	File string `arg:"" help:"The payload, JSON; - for standard input."`
	Text bool   `help:"The file is a result summary: prose, or a payload written as text."`
}

// Help is shown by --help.
func (completionCheck) Help() string {
	return `It prints one JSON object: outcome is completion, refusal, prose or violation; a violation has the path to the
fault and what would be right, the others their normalised form. Exit status: 0, and 2 for a violation.

Example:

  echo '{"summary":"Did it."}' | countersign completion check -`
}

// completionResult is what check prints.
type completionResult struct {
	Outcome    completion.Outcome `json:"outcome"`
	Path       string             `json:"path,omitzero"`
	Message    string             `json:"message,omitzero"`
	Normalised jsontext.Value     `json:"normalised,omitzero"`
}

// Run judges the file.
func (c *completionCheck) Run(s *session) error {
	data, err := s.readInput(c.File)
	if err != nil {
		return err
	}
	result, violation := judge(data, c.Text)
	if violation != nil {
		result = completionResult{Outcome: completion.OutcomeViolation, Path: violation.Path, Message: violation.Detail}
	}
	if err := s.out.JSON(result); err != nil {
		return err
	}
	if violation != nil {
		return &statusError{exitRefused, about(c.File, violation)}
	}
	return nil
}

func judge(data []byte, text bool) (completionResult, *contracts.Error) {
	var payload completion.Payload
	if text {
		r, violation := completion.ParseSummary(string(data))
		if violation != nil || r.Outcome == completion.OutcomeProse {
			return completionResult{Outcome: r.Outcome}, violation
		}
		payload = r.Payload
	} else {
		var violation *contracts.Error
		if payload, violation = completion.Parse(data); violation != nil {
			return completionResult{}, violation
		}
	}
	normalised, violation := completion.Normalise(payload)
	return completionResult{Outcome: payload.Outcome(), Normalised: normalised}, violation
}

type completionFollowups struct {
	Parent string `required:"" placeholder:"TASK" help:"The id of the task that was refused."`
	File   string `arg:"" help:"The refusal, JSON; - for standard input."`
}

// Help is shown by --help.
func (completionFollowups) Help() string {
	return `The ids depend on the parent, the contract's version and the split alone, so the same refusal always leads to the
same tasks. A refusal of another kind leads to none.`
}

// Run derives the tasks.
func (c *completionFollowups) Run(s *session) error {
	data, err := s.readInput(c.File)
	if err != nil {
		return err
	}
	refusal, violation := completion.ParseRefusal(data)
	if violation != nil {
		return about(c.File, violation)
	}
	type followUp struct {
		TaskID string `json:"task_id"`
		Title  string `json:"title"`
	}
	tasks := []followUp{}
	for _, f := range completion.FollowUps(c.Parent, refusal) {
		tasks = append(tasks, followUp{f.ID, f.Title})
	}
	return s.out.JSON(tasks)
}

type ledgerCommands struct {
	Verify ledgerVerify `cmd:"" help:"Check a task's ledger: every hash, every link, nothing missing."`
}

type ledgerVerify struct {
	Task string `arg:"" help:"The task's id."`
}

// Help is shown by --help.
func (ledgerVerify) Help() string {
	return `It reads the whole ledger from the server and computes the chain again here. Exit status: 0 sound, 2 when an entry
was changed, moved or removed; the entry is named.`
}

// ledgerResult is what verify prints.
type ledgerResult struct {
	TaskID  string `json:"task_id"`
	OK      bool   `json:"ok"`
	Entries int    `json:"entries"`
	Head    string `json:"head"`
	// Sequence and Detail are those of the first fault.
	Sequence int    `json:"sequence,omitzero"`
	Detail   string `json:"detail,omitzero"`
}

// Run verifies.
func (c *ledgerVerify) Run(s *session) error {
	if err := checkID("task", c.Task); err != nil {
		return err
	}
	r, err := s.remote()
	if err != nil {
		return err
	}
	ledger, fault, err := r.VerifiedLedger(s.ctx, c.Task)
	if err != nil {
		return err
	}
	result := ledgerResult{TaskID: c.Task, OK: fault == nil, Entries: ledger.Count, Head: ledger.Head}
	if fault != nil {
		result.Sequence, result.Detail = fault.Sequence, fault.Detail
	}
	err = s.print(result, func() error {
		if result.OK {
			s.out.Println(fmt.Sprintf("sound: %d entries, head %s", result.Entries, result.Head))
		}
		return nil
	})
	if err == nil && fault != nil {
		err = &statusError{exitRefused, fmt.Errorf("ledger entry %d: %s", fault.Sequence, fault.Detail)}
	}
	return err
}
