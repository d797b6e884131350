// Tasks as operators write and read them.

package workflow

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// TaskStatus is where a task stands; all but open are final.
type TaskStatus string

// The statuses of a task.
const (
	TaskOpen      TaskStatus = "open"
	TaskDone      TaskStatus = "done"
	TaskFailed    TaskStatus = "failed"
	TaskRefused   TaskStatus = "refused"
	TaskCancelled TaskStatus = "cancelled"
)

// CreateTask is the body of POST /v1/tasks; its write context names the project.
type CreateTask struct {
	WriteContext WriteContext `json:"write_context"`
	Title        string       `json:"title" validate:"notblank,max=200,text"`
	Goal         string       `json:"goal" validate:"notblank,max=16384,text"`
	// Repository defaults to the project's.
	Repository   string         `json:"repository,omitzero" validate:"omitempty,notblank,max=1024,text"`
	Labels       []string       `json:"labels,omitzero" validate:"max=32,unique,dive,notblank,max=64,text"`
	ArtifactSpec jsontext.Value `json:"artifact_spec,omitzero"`
}

// PatchTask is the body of PATCH /v1/tasks/{id}; absent fields stay.
type PatchTask struct {
	WriteContext    WriteContext `json:"write_context"`
	ExpectedVersion int          `json:"expected_version" validate:"required,min=1"`
	Title           *string      `json:"title,omitzero" validate:"omitempty,notblank,max=200,text"`
	Labels          *[]string    `json:"labels,omitzero" validate:"omitempty,max=32,unique,dive,notblank,max=64,text"`
	Goal            *string      `json:"goal,omitzero" validate:"omitempty,notblank,max=16384,text"`
	Status          *TaskStatus  `json:"status,omitzero" validate:"omitempty,oneof=cancelled"`
}

// Task is a task as readers see it.
type Task struct {
	ID             string         `json:"id"`
	ProjectID      string         `json:"project_id"`
	ParentTaskID   string         `json:"parent_task_id,omitzero"`
	Title          string         `json:"title"`
	Goal           string         `json:"goal"`
	Repository     string         `json:"repository"`
	Status         TaskStatus     `json:"status"`
	TerminalReason string         `json:"terminal_reason,omitzero"`
	Refusal        jsontext.Value `json:"refusal,omitzero"`
	ResultSummary  *string        `json:"result_summary,omitzero"`
	// Version starts at 1 and grows with every edit, completion and acceptance.
	Version      int            `json:"version"`
	Labels       []string       `json:"labels"`
	ArtifactSpec jsontext.Value `json:"artifact_spec,omitzero"`
	// Workflow is the current revision, null when the task was never dispatched.
	Workflow  *Projection `json:"workflow"`
	CreatedAt time.Time   `json:"created_at"`
	UpdatedAt time.Time   `json:"updated_at"`
}

// TaskList answers GET /v1/tasks. NextAfter is the cursor for the next page, null on the last.
type TaskList struct {
	Tasks     []Task  `json:"tasks"`
	NextAfter *string `json:"next_after"`
}

// TaskQuery selects a page of tasks.
type TaskQuery struct {
	ProjectID string     // required
	Status    TaskStatus // "" for any
	Limit     int        // 1 to 100
	After     string     // cursor of the page before, "" for the first
}
