// The kinds of artifact a task may declare.

// Package artifact is the contract of tasks that produce something else than a commit: how such a
// task declares what it will write, what the one canonical form of each kind is, and how the declared
// criteria are judged. It opens no file, calls nobody and reads no clock; bytes come from readers.
package artifact

import "slices"

// Kind is what a task produces (seed, section "Artifact kinds"). It decides the canonical form.
type Kind string

// The kinds. CodeDiff is what a task without a declaration is; it takes the git path, not this one.
const (
	CodeDiff  Kind = "code_diff"
	Report    Kind = "report"
	Dataset   Kind = "dataset"
	ActionLog Kind = "action_log"
	OpsResult Kind = "ops_result"
)

var kinds = []Kind{CodeDiff, Report, Dataset, ActionLog, OpsResult}

// Kinds lists all kinds, code_diff first.
func Kinds() []Kind { return slices.Clone(kinds) }

// Known reports whether k is one of Kinds.
func (k Kind) Known() bool { return slices.Contains(kinds, k) }

// InRows reports whether the canonical form is JSONL, one object a line, and not one document.
func (k Kind) InRows() bool { return k == Dataset || k == ActionLog }
