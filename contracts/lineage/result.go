// What a verification says.

package lineage

import (
	"fmt"

	"countersign/contracts/figures"
)

// Result is what became of a task's artifact. OK means that every check passed; otherwise Failures has at
// least one sentence, each naming the file or log line and the cause. A cause that lies with another task's
// line is named as such.
type Result struct {
	TaskID string `json:"task_id"`
	OK     bool   `json:"ok"`
	// ContentHash is that of the stored bytes, EntryHash that of the task's newest entry; "" when there is
	// none.
	ContentHash string   `json:"content_hash"`
	EntryHash   string   `json:"entry_hash"`
	Failures    []string `json:"failures"`
	// Notes say which checks could not be made; absent when all were.
	Notes []string `json:"notes,omitempty"`
	// Figures is the strict verdict on a report with figures, nil for everything else.
	Figures *figures.Verdict `json:"figures,omitempty"`
}

// maxFailures bounds what is said; the rest is counted.
const maxFailures = 100

// failures collects sentences.
type failures struct {
	list []string
	rest int
}

func (f *failures) add(format string, args ...any) {
	if len(f.list) == maxFailures {
		f.rest++
		return
	}
	f.list = append(f.list, fmt.Sprintf(format, args...))
}

// all is never nil.
func (f *failures) all() []string {
	if f.rest > 0 {
		return append(f.list, fmt.Sprintf("and %d more", f.rest))
	}
	return append([]string{}, f.list...)
}
