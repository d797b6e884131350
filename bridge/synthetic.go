// The synthetic runtime: the bridge's own program as a provider, through the same spawn and
// containment path as any other.

package bridge

import (
	"fmt"

	"countersign/contracts/artifact"
	"countersign/contracts/workflow"

	"github.com/go-json-experiment/json"
)

type synthetic struct{ executable, version string }

func (synthetic) Name() workflow.Runtime { return workflow.RuntimeSynthetic }

// syntheticJob is what the agent reads from its standard input.
type syntheticJob struct {
	Purpose           workflow.Purpose             `json:"purpose"`
	Attempt           int                          `json:"attempt"`
	TaskID            string                       `json:"task_id"`
	Goal              string                       `json:"goal"`
	Prompt            string                       `json:"prompt"`
	MayWrite          bool                         `json:"may_write"`
	Criteria          []workflow.Criterion         `json:"criteria"`
	FrozenBaseCommit  string                       `json:"frozen_base_commit"`
	BaseCommit        string                       `json:"base_commit"`
	WorkerExecutionID *string                      `json:"worker_execution_id"`
	Feedback          []workflow.CriterionFeedback `json:"feedback"`
	// Artifact is what to produce or to judge instead of a commit, CandidateHash what it should be.
	Artifact      *artifact.Spec `json:"artifact,omitzero"`
	CandidateHash *string        `json:"candidate_hash,omitzero"`
	// Child makes the agent the stray process of another one's scenario.
	Child *childStep `json:"child,omitzero"`
}

// Command hands the whole job over on standard input.
func (s synthetic) Command(job Job) (Command, error) {
	w := job.Plan.Workflow
	declared, err := producedBy(job.Plan.ArtifactSpec)
	if err != nil {
		return Command{}, fmt.Errorf("synthetic job: %w", err)
	}
	stdin, err := json.Marshal(syntheticJob{
		Artifact: declared, CandidateHash: w.CandidateHash,
		Purpose: w.Purpose, Attempt: job.Attempt, TaskID: job.Plan.TaskID, Goal: job.Plan.Goal, Prompt: job.Plan.Prompt,
		MayWrite: job.Plan.Profile.AllowWorkspaceWrites, Criteria: w.Criteria,
		FrozenBaseCommit: w.FrozenBaseCommit, BaseCommit: job.Plan.BaseCommit,
		WorkerExecutionID: w.WorkerExecutionID, Feedback: w.Feedback,
	})
	if err != nil {
		return Command{}, fmt.Errorf("synthetic job: %w", err)
	}
	return Command{Path: s.executable, Args: []string{CommandSyntheticAgent}, Stdin: stdin}, nil
}

func (synthetic) Stream(Job) Stream { return &syntheticStream{} }

// syntheticEvent is one line of the agent's output.
type syntheticEvent struct {
	Type      string `json:"type"` // session, note, result
	SessionID string `json:"session_id,omitzero"`
	Text      string `json:"text,omitzero"`
	OK        bool   `json:"ok,omitzero"`
	Error     string `json:"error,omitzero"`
	Answer    Answer `json:"answer,omitzero"`
}

// syntheticStream reads the agent's output.
type syntheticStream struct{ report Report }

// Line takes one event. What is no event is noise, which providers print too.
func (s *syntheticStream) Line(line []byte, cut bool) {
	var e syntheticEvent
	if cut || json.Unmarshal(line, &e) != nil {
		return
	}
	switch e.Type {
	case "session":
		switch {
		case s.report.Session == "":
			s.report.Session = e.SessionID
		case s.report.Session != e.SessionID:
			s.report.Fault = "the session id changed"
		}
	case "result":
		s.report.Ended, s.report.Answer = true, e.Answer
		if !e.OK {
			s.report.Fault = "the agent reported an error: " + e.Error
		}
		return
	}
	// An event after the terminal one means that the turn was not over.
	s.report.Ended = false
}

func (s *syntheticStream) Report() Report { return s.report }
