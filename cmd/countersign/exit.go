// Exit statuses, and the one line on standard error that goes with them.

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"

	"countersign/api/client"
	"countersign/cmd/countersign/internal/term"
	"countersign/contracts"

	"github.com/alecthomas/kong"
)

// Exit statuses; 3 to 6 are those of `workflow get`, and 3 that of `receipt verify` too.
const (
	exitOK          = 0
	exitFailed      = 1
	exitRefused     = 2
	exitBlocked     = 3
	exitCancelled   = 4
	exitUnknownTask = 5
	exitUnreachable = 6
	exitUsage       = 64

	exitSignerUnknown = 3
)

// statusError gives an error an exit status of its own. A nil err says nothing on standard error.
type statusError struct {
	code int
	err  error
}

func (e *statusError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *statusError) Unwrap() error { return e.err }

// interrupted is the end by a signal.
type interrupted syscall.Signal

func (i interrupted) Error() string { return "interrupted: " + syscall.Signal(i).String() }

// status is the shell's own number for a program that a signal ended.
func (i interrupted) status() int { return 128 + int(i) }

// stoppedBySignal reports whether an error says only that a signal came: as the context's end, or as
// its cause.
func stoppedBySignal(err error) bool {
	_, cause := errors.AsType[interrupted](err)
	return cause || errors.Is(err, context.Canceled)
}

// usageError is a command line that asks for what does not exist or cannot be.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

// statusOf is the exit status of a command's error: 64 for usage, 2 for what was refused or is bad
// data, 1 for what went wrong on the way.
func statusOf(ctx context.Context, err error) int {
	if err == nil {
		return exitOK
	}
	if own, ok := errors.AsType[*statusError](err); ok {
		return own.code
	}
	if _, ok := errors.AsType[*kong.ParseError](err); ok {
		return exitUsage
	}
	if _, ok := errors.AsType[usageError](err); ok {
		return exitUsage
	}
	if signal, ok := errors.AsType[interrupted](context.Cause(ctx)); ok && stoppedBySignal(err) {
		return signal.status()
	}
	switch contracts.CodeOf(err) {
	case "", contracts.CodeUnavailable, contracts.CodeInternal, contracts.CodeRateLimited:
		return exitFailed
	}
	return exitRefused
}

// report says an error in one line, the JSON path included when there is one.
func report(w io.Writer, err error) {
	text := err.Error()
	if text == "" || stoppedBySignal(err) {
		return
	}
	if refusal, ok := errors.AsType[*client.Refusal](err); ok && refusal.RequestID != "" {
		text += " (request " + refusal.RequestID + ")"
	}
	fmt.Fprintln(w, "countersign: "+term.Safe(oneLine(text)))
}

// oneLine joins the lines of an error, each once: a driver names an address for every way it was tried.
func oneLine(text string) string {
	var lines []string
	for _, line := range strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' }) {
		if line = strings.TrimSpace(line); line != "" && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return strings.ReplaceAll(strings.Join(lines, "; "), ":; ", ": ")
}
