// Reading documents: down from the commit through its trees, hashing all that is read.

package documents

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"countersign/contracts/workflow"
)

const (
	// maxCommit and maxTree bound what is read besides documents, in bytes.
	maxCommit = 1 << 20
	maxTree   = 8 << 20
)

// Read returns the documents at the places, in their order, or a *Fault about the first that cannot be
// used: none of them may have more than limit bytes. Other errors are ctx's, or say that git cannot be
// run. Places of one commit share what is read of it.
func (m *Mirrors) Read(ctx context.Context, repository string, places []Place, limit int64) ([]string, error) {
	dir, ok := m.paths[repository]
	if !ok {
		return nil, &Fault{0, workflow.SourceNoMirror, "the server has no mirror of the project's repository"}
	}
	o, err := m.open(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer o.close()
	r := reading{objects: o, trees: map[string][]entry{}}
	out := make([]string, len(places))
	for i, p := range places {
		content, err := r.document(p, limit)
		if err == nil {
			err = text(content)
		}
		if err := ctx.Err(); err != nil {
			return nil, err // whatever git said after it was stopped
		}
		if fault, ok := err.(*Fault); ok {
			fault.Index = i
		}
		if err != nil {
			return nil, err
		}
		out[i] = string(content)
	}
	return out, nil
}

func text(content []byte) error {
	switch {
	case !utf8.Valid(content):
		return &Fault{Reason: workflow.SourceNotUTF8, Detail: "the document is no UTF-8"}
	case strings.ContainsRune(string(content), 0):
		return &Fault{Reason: workflow.SourceNotText, Detail: "the document holds U+0000"}
	case workflow.Blank(string(content)):
		return &Fault{Reason: workflow.SourceNotText, Detail: "the document is blank"}
	}
	return nil
}

// reading keeps the trees that places have in common.
type reading struct {
	*objects
	trees map[string][]entry // by id
}

// document walks to one document. Everything but a regular file reached through directories is a fault.
func (r *reading) document(p Place, limit int64) ([]byte, error) {
	commit, err := r.get(p.Commit, "commit", maxCommit)
	if err == errNoObject {
		return nil, &Fault{Reason: workflow.SourceMissing, Detail: "the mirror has no such commit"}
	}
	if err != nil {
		return nil, err
	}
	first, _, _ := strings.Cut(string(commit), "\n")
	id, ok := strings.CutPrefix(first, "tree ")
	if !ok {
		return nil, truncated("commit", p.Commit)
	}
	segments := strings.Split(p.Path, "/")
	for i, name := range segments {
		e, err := r.find(id, name)
		if err != nil {
			return nil, err
		}
		last := i == len(segments)-1
		switch {
		case e.mode == modeLink:
			return nil, &Fault{Reason: workflow.SourceSymlinked, Detail: fmt.Sprintf("%q is a symbolic link", strings.Join(segments[:i+1], "/"))}
		case last && e.mode != modeFile && e.mode != modeProgram, !last && e.mode != modeTree:
			return nil, &Fault{Reason: workflow.SourceMissing, Detail: "the commit has no such document"}
		}
		id = e.id
	}
	content, err := r.get(id, "blob", limit)
	if err == errNoObject {
		return nil, truncated("document", id)
	}
	return content, err
}

func (r *reading) find(tree, name string) (entry, error) {
	entries, known := r.trees[tree]
	if !known {
		data, err := r.get(tree, "tree", maxTree)
		if err == errNoObject {
			return entry{}, truncated("tree", tree)
		}
		if err != nil {
			return entry{}, err
		}
		if entries, known = parseTree(data); !known {
			return entry{}, truncated("tree", tree)
		}
		r.trees[tree] = entries
	}
	for _, e := range entries {
		if e.name == name {
			return e, nil
		}
	}
	return entry{}, nil // of no mode, so it is missing
}

func truncated(what, id string) *Fault {
	return &Fault{Reason: workflow.SourceTruncated, Detail: fmt.Sprintf("the mirror lacks the %s %s or has it damaged", what, id)}
}
