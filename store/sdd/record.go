// Recording a task's artifact, and attaching a file.

package sdd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"countersign/contracts"
	"countersign/contracts/artifact"
	"countersign/contracts/figures"
	"countersign/contracts/lineage"
)

// Options say where to record and as whom.
type Options struct {
	// Workdir is the directory that has, or gets, the .sdd directory.
	Workdir string
	// Secret is the operator's, empty for none.
	Secret []byte
	// Receipts answers anchors of kind receipt; nil lets none resolve.
	Receipts figures.Resolver
}

// Recorded is what came of a recording.
type Recorded struct {
	// Entry is the one the task now completes on; the zero Entry when a criterion failed.
	Entry lineage.Entry
	// Fresh says that it was appended now, and was not there before.
	Fresh bool
	// Results are those of the declared criteria, in order; also when one failed.
	Results []artifact.Result
	// Notes say what was mended, and what a reader of the tree will meet; never nil.
	Notes []string
}

// ErrCriteria says that a declared criterion failed, and nothing was recorded.
var ErrCriteria = contracts.Refuse(artifact.CodeRejected, "a criterion failed; nothing was recorded")

// Record completes a task on what it wrote (seed, section "Completing a task on a receipt"): it loads the
// output that the spec declares, judges every criterion on its canonical bytes, and when all pass records
// them, with key and card on the tree's first recording. The same bytes again change nothing, but restore
// what is missing of them. When a criterion fails, the error is ErrCriteria and nothing is written.
//
// Other errors are a *contracts.Error: artifact_missing, artifact_rejected, invalid (also for a tree that
// cannot be recorded into); or wrap what the disk answered.
func Record(ctx context.Context, o Options, taskID string, spec artifact.Spec) (Recorded, error) {
	if err := artifact.CheckTaskID(taskID); err != nil {
		return Recorded{}, err
	}
	if spec.Kind == artifact.CodeDiff {
		return Recorded{}, contracts.Invalid("artifact_spec.kind", "a code_diff completes on a commit and has no artifact to record")
	}
	loaded, err := load(ctx, o.Workdir, spec)
	if err != nil {
		return Recorded{}, err
	}
	defer loaded.remove()
	done := Recorded{Notes: []string{}}
	var strict string
	done.Results, strict, err = judge(ctx, o, loaded, spec)
	if err != nil {
		return done, err
	}
	for _, r := range done.Results {
		if !r.Passed {
			return done, ErrCriteria
		}
	}
	err = into(ctx, o, &done, lineage.Deliverable{TaskID: taskID, Kind: spec.Kind, ContentHash: loaded.hash}, loaded.bytes())
	if err == nil && strict != "" {
		done.Notes = append(done.Notes, "`artifact verify` will fail, for it is always strict: "+strict)
	}
	return done, err
}

// Attach records a file's bytes as they are, for figures to be anchored to. The errors are those of Record.
func Attach(ctx context.Context, o Options, in io.Reader) (Recorded, error) {
	loaded, err := spool(ctx, func(out io.Writer) (string, error) { return hashCopy(out, in) })
	if err != nil {
		return Recorded{}, err
	}
	defer loaded.remove()
	done := Recorded{Notes: []string{}}
	err = into(ctx, o, &done, lineage.Deliverable{Kind: lineage.Attachment, ContentHash: loaded.hash}, loaded.bytes())
	return done, err
}

// into takes the tree over, which is made when missing, and records.
func into(ctx context.Context, o Options, done *Recorded, d lineage.Deliverable, in io.Reader) error {
	t, err := openOrMake(ctx, o.Workdir)
	if err != nil {
		return err
	}
	defer t.close()
	w := &writer{tree: t}
	if err = w.takeOver(o.Secret); err == nil {
		done.Entry, done.Fresh, err = w.record(ctx, d, in)
	}
	done.Notes = append(done.Notes, w.notes...)
	if errors.Is(err, errUnfit) {
		return contracts.Invalid("workdir", "%v", err)
	}
	return err
}

// openOrMake opens the tree for writing.
func openOrMake(ctx context.Context, workdir string) (*tree, error) {
	t, err := open(ctx, workdir, syscall.LOCK_EX)
	if !errors.Is(err, errNoTree) {
		return t, err
	}
	step("mkdir " + directory)
	parent, err := os.OpenRoot(workdir)
	if err != nil {
		return nil, err
	}
	defer parent.Close()
	err = parent.Mkdir(directory, 0o755)
	if err == nil {
		err = syncDir(parent, ".")
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return open(ctx, workdir, syscall.LOCK_EX)
}

// record records what in holds and makes the receipt of it.
func (w *writer) record(ctx context.Context, d lineage.Deliverable, in io.Reader) (entry lineage.Entry, fresh bool, err error) {
	newest, found, err := w.Newest(ctx, lineage.Entry{TaskID: d.TaskID, Kind: d.Kind, ContentHash: d.ContentHash}.Path())
	if err != nil {
		return entry, false, err
	}
	there := ""
	if found && newest.ContentHash == d.ContentHash {
		if there, err = w.hashOf(lineage.BytesPath(newest.Path())); err != nil {
			return entry, false, err
		}
	}
	same := there == d.ContentHash
	if !same || newest.Kind != d.Kind {
		hash, err := w.take(in)
		if err == nil && hash != d.ContentHash {
			err = errors.Join(fmt.Errorf("the bytes changed on the way: %s", hash), w.drop())
		}
		if err != nil {
			return entry, false, err
		}
	}
	entry, fresh, err = lineage.Append(ctx, w, w.signer, d)
	if err != nil {
		return entry, fresh, err
	}
	if !fresh && !same {
		if err := w.place(entry); err != nil {
			return entry, fresh, err
		}
		w.note("mended: %s/%s had other bytes than its entry", directory, lineage.BytesPath(entry.Path()))
	}
	if d.TaskID == "" {
		return entry, fresh, nil
	}
	put, err := w.putReceipt(entry)
	if put && !fresh {
		w.note("mended: the receipt of task %s was not that of its last entry", d.TaskID)
	}
	return entry, fresh, err
}

// judge evaluates the criteria, and says what a strict reader of the figures will find wrong, "" for
// nothing. The tree is held while it answers, and let go before it is written to.
func judge(ctx context.Context, o Options, loaded *spooled, spec artifact.Spec) (results []artifact.Result, strict string, err error) {
	var bundle []byte
	if spec.Kind == artifact.Report {
		if bundle, err = loaded.bundle(); err != nil {
			return nil, "", err
		}
	}
	resolve := lineage.Resolver(func(figures.Anchor) (lineage.Found, bool) { return lineage.Found{}, false }, o.Receipts)
	t, err := open(ctx, o.Workdir, syscall.LOCK_SH)
	if err == nil {
		defer t.close()
		tree := newFiles(t.root)
		defer tree.close()
		resolve, err = lineage.Ground(ctx, tree, bundle, lineage.Options{Secret: o.Secret, Receipts: o.Receipts})
	}
	if err != nil && !errors.Is(err, errNoTree) {
		return nil, "", err
	}
	results, err = artifact.Evaluate(spec.Kind, loaded.bytes(), spec.Criteria, resolve)
	if err != nil || bundle == nil {
		return results, "", err
	}
	criterion, err := figures.ParseCriterion("")
	if err != nil {
		return nil, "", err
	}
	if ok, detail := criterion.Judge(bundle, resolve); !ok {
		strict = detail
	}
	return results, strict, nil
}
