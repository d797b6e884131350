// How a revision's progress looks: a line per phase, and on a terminal one that lives.

package follow

import (
	"fmt"
	"os"
	"strings"
	"time"

	"countersign/cmd/countersign/internal/term"
	"countersign/contracts/workflow"
)

// Quiet shows nothing; the caller prints the final detail.
type Quiet struct{}

// Entry implements View.
func (Quiet) Entry(*workflow.Detail, workflow.HistoryEntry) {}

// State implements View.
func (Quiet) State(*workflow.Detail) {}

// Away implements View.
func (Quiet) Away(error, time.Duration) {}

// Lines prints a line for each history entry and, on a terminal, a last line that is written over
// again and again with what is going on and how long its lease still runs.
type Lines struct {
	out  *term.Out
	live bool
	// last is when the entry before was made; first tells that there was none.
	last  time.Time
	first bool
	away  bool
	drawn bool
}

// NewLines makes a view on out.
func NewLines(out *term.Out) *Lines {
	return &Lines{out: out, live: out.Terminal() && os.Getenv("TERM") != "dumb", first: true}
}

// Entry implements View.
func (l *Lines) Entry(d *workflow.Detail, e workflow.HistoryEntry) {
	l.Clear()
	took := ""
	if !l.first {
		took = "+" + short(e.At.Sub(l.last))
	}
	l.last, l.first = e.At, false
	kind := l.out.Paint(colourOf(e.Kind), fmt.Sprintf("%-18s", e.Kind))
	line := fmt.Sprintf("%s  %8s  %s %-8s %s", e.At.Local().Format("15:04:05.000"), took, kind, attemptName(d, e), note(e))
	l.out.Println(strings.TrimRight(line, " "))
}

// State implements View.
func (l *Lines) State(d *workflow.Detail) {
	if l.away {
		l.Clear()
		l.out.Println("the server answers again")
		l.away = false
	}
	l.draw(l.out.Paint(term.Bold, string(d.Phase)), Situation(d))
}

// Away implements View.
func (l *Lines) Away(err error, since time.Duration) {
	if !l.live && !l.away {
		l.out.Println("the server does not answer, asking again: " + term.Safe(err.Error()))
	}
	l.away = true
	l.draw(l.out.Paint(term.Yellow, "away"), fmt.Sprintf("the server has not answered for %s, asking again", short(since)))
}

// Clear takes the living line away, before something else is written.
func (l *Lines) Clear() {
	if l.drawn {
		l.out.Printf("\r\x1b[2K")
		l.drawn = false
	}
}

// draw leaves the last column free: a terminal that wraps would keep half of the line for ever.
func (l *Lines) draw(head, text string) {
	if !l.live {
		return
	}
	room := l.out.Width() - 24
	if runes := []rune(text); room > 0 && len(runes) > room {
		text = string(runes[:room])
	}
	l.out.Printf("\r\x1b[2K  %s  %s", head, text)
	l.drawn = true
}

// Situation is what the revision waits for; empty once it is final.
func Situation(d *workflow.Detail) string {
	a := d.ActiveAttempt
	if a == nil {
		return ""
	}
	name := fmt.Sprintf("%s %d", a.Purpose, a.Number)
	switch {
	case a.LeaseExpiresAt == nil:
		return name + " waits for its node to claim it"
	case a.LeaseExpired:
		return name + " has lost its lease and will be settled"
	}
	left := max(time.Until(*a.LeaseExpiresAt), 0)
	text := fmt.Sprintf("%s %s, lease %s", name, a.Phase, clock(left))
	if a.DeadlineAt != nil && a.DeadlineAt.Equal(*a.LeaseExpiresAt) {
		text += " to the deadline"
	}
	return text
}

func attemptName(d *workflow.Detail, e workflow.HistoryEntry) string {
	if e.AttemptID == nil {
		return ""
	}
	for _, a := range d.Attempts {
		if a.ExecutionID == *e.AttemptID {
			return fmt.Sprintf("%s %d", a.Purpose, a.Number)
		}
	}
	return ""
}

func colourOf(kind workflow.EntryKind) term.Colour {
	switch kind {
	case workflow.EntryAccepted:
		return term.Green
	case workflow.EntryBlocked, workflow.EntryFailed, workflow.EntryInterrupted:
		return term.Red
	case workflow.EntryCancelled, workflow.EntryChangesRequested, workflow.EntryRearmed:
		return term.Yellow
	}
	return term.Cyan
}

// short is a duration as a person reads it.
func short(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.2fs", d.Seconds())
	case d < 10*time.Minute:
		return fmt.Sprintf("%.0fs", d.Seconds())
	}
	return d.Round(time.Minute).String()
}

// clock is minutes and seconds left, rounded up so that 0:00 means over.
func clock(d time.Duration) string {
	seconds := int((d + time.Second - 1) / time.Second)
	return fmt.Sprintf("%d:%02d", seconds/60, seconds%60)
}
