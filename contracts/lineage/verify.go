// Verification: everything that must hold of a tree for one task's artifact to be believed.

package lineage

import (
	"context"
	"io/fs"

	"countersign/contracts"
	"countersign/contracts/artifact"
	"countersign/contracts/figures"
)

// Options are what the reader of a tree brings along.
type Options struct {
	// Secret is the operator's. Without one the seals are not looked at, and Result.Notes says so.
	Secret []byte
	// Receipts answers anchors of kind receipt; nil lets none resolve.
	Receipts figures.Resolver
}

// noteNoSecret is said when the seals cannot be checked.
const noteNoSecret = "no operator secret was given: the operator HMAC was not checked"

// Verify checks a task's artifact in a .sdd tree (seed, section "bernstein artifact verify"): the bytes
// against the receipt and the signed entry, and the whole log, of every task: form, chain, parents, seals,
// signatures and head. A report with figures is judged strictly by the default policy, whatever its task
// declared. Format v 1 is told from v 2 by the log's first line.
//
// The tree is the .sdd directory; it is only read, its files may be anything, and opening one must not
// block. The signatures are checked on all cores, so it must allow concurrent use. Memory grows with the
// number of different artefact paths (some 200 bytes each; of lines in format v 1) and the size of a
// report with figures, and with nothing else.
//
// Whatever is wrong is in the Result; the error is that of a context that ended, and then the Result is
// worth nothing.
func Verify(ctx context.Context, tree fs.FS, taskID string, o Options) (Result, error) {
	v := verification{ctx: ctx, tree: tree, task: taskID, secret: o.Secret}
	if err := artifact.CheckTaskID(taskID); err != nil {
		v.failures.add("%s", sentence(err))
		return v.result(), nil
	}
	v.format = formatOf(tree)
	v.cards = readCards(tree, v.format.parseCard, &v.failures)
	v.readReceipt()
	v.readBytes()
	v.readLog()
	if v.format.version == 2 {
		v.checkHead()
	} else if _, err := fs.Stat(tree, HeadPath); err == nil {
		v.failures.add("%s: a log of format v 1 has no head; a tree is of one format", HeadPath)
	}
	v.checkReceipt()
	v.checkBytes()
	v.checkFigures(o.Receipts)
	return v.result(), ctx.Err()
}

// verification is one run.
type verification struct {
	ctx    context.Context
	tree   fs.FS
	task   string
	secret []byte
	format format
	cards  cards

	receipt *Receipt // as it stands there, nil when it cannot be read
	hash    string   // of the task's bytes as they are, "" when they cannot be read
	tip     Tip
	own     *record // the newest entry of the task
	named   *record // the entry the receipt names
	order   order
	grounds grounds
	// grounding leaves the signatures of records alone that no anchor names.
	grounding bool

	failures failures
	notes    []string
	verdict  *figures.Verdict
}

// result sums up.
func (v *verification) result() Result {
	r := Result{TaskID: v.task, ContentHash: v.hash, Notes: v.notes, Figures: v.verdict}
	if len(v.secret) == 0 {
		r.Notes = append(r.Notes, noteNoSecret)
	}
	if v.own != nil {
		r.EntryHash = v.own.want.EntryHash
	}
	r.Failures = v.failures.all()
	r.OK = len(r.Failures) == 0
	return r
}

// sentence is an error without its code.
func sentence(err error) string {
	if e, ok := err.(*contracts.Error); ok {
		if e.Path == "" || e.Path == "$" {
			return e.Detail
		}
		return e.Path + " " + e.Detail
	}
	return err.Error()
}
