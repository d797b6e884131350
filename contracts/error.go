// The one error type of the system: a stable code, the path to the fault, a sentence a client may read.

// Package contracts is the root of the system's language: the error type that every layer speaks.
// The closed wire types live in its subpackages. Nothing here does I/O or reads a clock.
package contracts

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// Error is a refusal or failure that may be shown to a client as it is. Internal causes never go
// into Detail; they are wrapped around it or logged.
type Error struct {
	// Code is a stable snake_case word, one of the Code constants.
	Code Code `json:"code"`
	// Path points at the fault, JSONPath style ("$.spec.criteria[1].id"); empty when there is none.
	Path string `json:"path,omitempty"`
	// Detail is one sentence for a person.
	Detail string `json:"detail,omitempty"`
	// Reason says for execution_terminal why the attempt ended, for workflow_terminal why the
	// revision did, for source_refused what is wrong with the source, for worker_dispatch_refused the
	// first reason code.
	Reason string `json:"reason,omitempty"`
	// Contract is the version of the contract that a payload violated.
	Contract string `json:"contract,omitempty"`
	// Outcome is for worker_dispatch_refused the outcome by the capability contract, as JSON.
	Outcome jsontext.Value `json:"outcome,omitempty"`
}

// Error joins code, path and detail in one line.
func (e *Error) Error() string {
	switch {
	case e.Path != "" && e.Detail != "":
		return fmt.Sprintf("%s at %s: %s", e.Code, e.Path, e.Detail)
	case e.Path != "":
		return fmt.Sprintf("%s at %s", e.Code, e.Path)
	case e.Detail != "":
		return fmt.Sprintf("%s: %s", e.Code, e.Detail)
	}
	return string(e.Code)
}

// Is reports whether target is an *Error of the same code, so that errors.Is works with Code.Err.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}

// Refuse makes an error without a path.
func Refuse(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Detail: fmt.Sprintf(format, args...)}
}

// Invalid makes an error of code invalid at path.
func Invalid(path, format string, args ...any) *Error {
	return &Error{Code: CodeInvalid, Path: path, Detail: fmt.Sprintf(format, args...)}
}

// CodeOf returns the code of the first *Error in err's chain, or "" when there is none.
func CodeOf(err error) Code {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return ""
}
