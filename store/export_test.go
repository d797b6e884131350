package store

import (
	"time"

	"countersign/contracts/workflow"
)

// PageOfTasks is the statement behind Tasks, for a look at its plan.
func PageOfTasks(q workflow.TaskQuery, after time.Time, id string) (string, []any) {
	return pageOfTasks(q, cursor{after, id})
}

// Translate is what becomes of a database's error.
var Translate = translate
