// Judging criteria on canonical bytes, in one pass over them.

package artifact

import (
	"crypto/sha256"
	"fmt"
	"io"
	"strings"

	"countersign/contracts"
	"countersign/contracts/figures"
)

// Evaluate judges every criterion on the canonical bytes of an artifact and returns one result for
// each, in order. The hash is taken of these bytes again, and documents are parsed from them; rows are
// seen one by one, so that memory is bounded as it is in Canonicalise. Resolve is asked about the anchors
// of a report's figures. A criterion that nobody can
// judge fails: one of an unknown type, with a value that cannot be read, or that needs what the
// artifact does not have, and figures_grounded when resolve is nil.
//
// The error wraps what the reader answered, or is a *contracts.Error of code invalid for an unknown
// kind; then nothing was judged.
func Evaluate(kind Kind, canonical io.Reader, criteria []Criterion, resolve figures.Resolver) ([]Result, error) {
	if !kind.Known() {
		return nil, contracts.Invalid("kind", "unknown kind %q", clip(string(kind), 40))
	}
	judges := make([]judge, len(criteria))
	for i, c := range criteria {
		judges[i] = newJudge(kind, c, resolve)
	}
	hash := sha256.New()
	r := io.TeeReader(&steadyReader{r: canonical}, hash)
	fault, err := show(kind, r, judges)
	if err != nil {
		return nil, err
	}
	// The rest counts for the hash, also behind a fault.
	if _, err := io.Copy(io.Discard, r); err != nil {
		return nil, err
	}
	evidence := evidence{hash: hashText(hash), fault: fault}
	results := make([]Result, len(criteria))
	for i, c := range criteria {
		passed, detail := judges[i].verdict(evidence)
		results[i] = Result{c.Type, passed, clip(detail, maxDetail)}
	}
	return results, nil
}

// maxDetail keeps a result readable, whatever an artifact or a criterion holds; bytes.
const maxDetail = 2000

// evidence is what there is to know when everything was read.
type evidence struct {
	hash  string
	fault string // why there is no JSON document, or not the whole of it
}

// judge makes up its mind about one criterion.
type judge interface {
	// wants reports whether see is worth parsing the nth row for; a document is the row 0.
	wants(nth int64) bool
	// see gets a JSON document or the next row, which it must not change.
	see(part part)
	// verdict comes last, once.
	verdict(evidence) (passed bool, detail string)
}

// part is a JSON document, or one row of a JSONL document.
type part struct {
	value  any
	row    int64  // from 0
	bundle []byte // the document, when it is a report's bundle
}

func newJudge(kind Kind, c Criterion, resolve figures.Resolver) judge {
	switch c.Type {
	case HashStable:
		return hashJudge{strings.TrimSpace(c.Value)}
	case SchemaValid:
		return newSchemaJudge(c.Value, kind.InRows())
	case CriteriaMatch:
		return newMatchJudge(c.Value, kind.InRows())
	case FiguresGrounded:
		return newFiguresJudge(c.Value, resolve)
	}
	return undecided{fmt.Sprintf("nobody judges criteria of type %q", clip(string(c.Type), 40))}
}

// show lets the judges see the JSON of an artifact, as far as they want to. It returns why they could
// not see all of it.
func show(kind Kind, r io.Reader, judges []judge) (fault string, err error) {
	switch kind {
	case Dataset, ActionLog:
		return showRows(r, judges)
	case OpsResult:
		data, err := readDocument(r)
		if err != nil {
			return rejected(err)
		}
		return showDocument(data, nil, judges)
	case Report:
		return showReport(r, judges)
	}
	return noDocument, nil
}

const noDocument = "the artifact is text and has no JSON document"

// rejected makes a fault of a rejection and leaves other errors as they are.
func rejected(err error) (fault string, other error) {
	if contracts.CodeOf(err) == CodeRejected {
		return err.Error(), nil
	}
	return "", err
}

func showRows(r io.Reader, judges []judge) (fault string, err error) {
	lines := newLineReader(r)
	for nth := int64(0); ; nth++ {
		line, err := lines.next()
		if err == io.EOF {
			return "", nil
		}
		if err != nil {
			return rejected(err)
		}
		if !anyWants(judges, nth) {
			continue
		}
		value, err := parseJSON(line)
		if err != nil {
			return fmt.Sprintf("row %d cannot be read: %v", nth, err), nil
		}
		for _, j := range judges {
			j.see(part{value: value, row: nth})
		}
	}
}

func anyWants(judges []judge, nth int64) bool {
	for _, j := range judges {
		if j.wants(nth) {
			return true
		}
	}
	return false
}

func showReport(r io.Reader, judges []judge) (fault string, err error) {
	if !anyWants(judges, 0) {
		return noDocument, nil
	}
	read, is, err := readBundle(r)
	if err != nil {
		return rejected(err)
	}
	if !is {
		return noDocument, nil
	}
	if _, err := parseBundle(read.Bytes()); err != nil {
		return rejected(err)
	}
	return showDocument(read.Bytes(), read.Bytes(), judges)
}

func showDocument(data, bundle []byte, judges []judge) (fault string, err error) {
	value, err := parseJSON(data)
	if err != nil {
		return fmt.Sprintf("the document cannot be read: %v", err), nil
	}
	for _, j := range judges {
		j.see(part{value: value, bundle: bundle})
	}
	return "", nil
}

// hashJudge compares the content hash, letter for letter.
type hashJudge struct{ want string }

func (hashJudge) wants(int64) bool { return false }
func (hashJudge) see(part)         {}

func (j hashJudge) verdict(e evidence) (bool, string) {
	if e.hash != j.want {
		return false, fmt.Sprintf("the content hash is %s and not %s", e.hash, clip(j.want, 80))
	}
	return true, "the content hash is " + e.hash
}

// undecided is the judge of a criterion that cannot be judged.
type undecided struct{ reason string }

func (undecided) wants(int64) bool                  { return false }
func (undecided) see(part)                          {}
func (u undecided) verdict(evidence) (bool, string) { return false, u.reason }
