// Why produced bytes have no canonical form.

package artifact

import (
	"fmt"
	"strings"

	"countersign/contracts"
)

// The codes of an artifact that does not complete its task.
const (
	// CodeRejected: there are bytes, but they have no canonical form, or a criterion failed on them.
	CodeRejected = contracts.CodeArtifactRejected
	// CodeMissing: nothing was written at the declared path.
	CodeMissing contracts.Code = "artifact_missing"
)

// Rejection says that bytes have no canonical form. It unwraps to a *contracts.Error of CodeRejected,
// so that contracts.CodeOf and a client see that one.
type Rejection struct {
	// Line is where the fault is, counted from 1 over LF, CRLF and CR line ends.
	Line int
	// Reason is the fault, with its remedy where one helps.
	Reason string
}

// Error joins line and reason.
func (r *Rejection) Error() string { return fmt.Sprintf("line %d: %s", r.Line, r.Reason) }

// Unwrap is the rejection as a client sees it.
func (r *Rejection) Unwrap() error { return contracts.Refuse(CodeRejected, "%s", r.Error()) }

// Missing is the refusal of a task that wrote nothing at the path it declared; the sentence is the
// seed's (section "What the operator gets").
func Missing(outputPath string) *contracts.Error {
	return contracts.Refuse(CodeMissing, "wrote no output at %s", outputPath)
}

const remedyNFC = "is not NFC; normalise it to NFC"

// clip keeps a stranger's text short in a sentence.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}
