// One task of a plan or a backlog, and the mark by which it is found again.

// Package planning reads tasks from where people write them down before there are any: the steps of a
// plan and the files of a backlog (artifact contract, section "Declaring one"). Both are closed, so that
// a misspelt declaration never silently becomes a task without one.
package planning

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"countersign/contracts"
	"countersign/contracts/artifact"
	"countersign/contracts/canonjson"
	"countersign/contracts/tree"
	"countersign/contracts/workflow"

	"github.com/go-json-experiment/json"
)

const (
	// MaxBytes is how large a plan or a backlog file may be.
	MaxBytes = 1 << 20
	// maxRequest is what one task may be as JSON: the API's limit for a body, with room for the rest.
	maxRequest = 1<<20 - 4<<10
)

// Entry is one task to be made.
type Entry struct {
	// At is where it stands in its document: "stages[0].steps[2]"; "" in a backlog file.
	At string
	// Task is what to ask the server for, without its write context. Its last label is the mark.
	Task workflow.CreateTask
}

// Mark is the label by which the entry's task is found again: "plan:" or "backlog:" and 32 hex digits,
// which depend on title, goal, labels and declaration alone. A task that has it was made from this entry.
func (e Entry) Mark() string { return e.Task.Labels[len(e.Task.Labels)-1] }

// Distinguish gives entries of the same content marks of their own, by their order.
func Distinguish(entries []Entry) error {
	seen := map[string]int{}
	for i := range entries {
		mark := entries[i].Mark()
		nth := seen[mark]
		seen[mark]++
		if nth == 0 {
			continue
		}
		surface, _, _ := strings.Cut(mark, ":")
		another, err := markOf(surface, struct {
			Mark string `json:"mark"`
			Nth  int    `json:"nth"`
		}{mark, nth})
		if err != nil {
			return err
		}
		entries[i].Task.Labels[len(entries[i].Task.Labels)-1] = another
	}
	return nil
}

func markOf(surface string, content any) (string, error) {
	digest, err := canonjson.DigestOf(content)
	if err != nil {
		return "", fmt.Errorf("mark an entry: %w", err)
	}
	return surface + ":" + digest[:32], nil
}

var anyMark = regexp.MustCompile(`^(?:plan|backlog):[0-9a-f]{32}$`)

// field is a text and the path of where it came from.
type field struct{ text, at string }

// draft is an entry as it was read and not yet held to a task's own rules.
type draft struct {
	surface, at string
	title, goal field
	labels      []field
	spec        *artifact.Spec
}

// read takes the fields that steps and backlog files share; known are all that this one may have.
func (d *draft) read(n tree.Node, known ...string) *contracts.Error {
	if err := n.OnlyKeys(d.at, known...); err != nil {
		return err
	}
	var err *contracts.Error
	if d.title, err = textOf(n, d.at, "title"); err != nil {
		return err
	}
	if d.title.at == "" {
		return contracts.Invalid(tree.Join(d.at, "title"), "is required")
	}
	if err := d.readLabels(n); err != nil {
		return err
	}
	role, err := textOf(n, d.at, "role")
	if err != nil {
		return err
	}
	d.label("role", role)
	declared, given := n.Member("artifact_spec")
	if !given {
		return nil
	}
	spec, fault := artifact.SpecFrom(declared)
	if refusal, ok := errors.AsType[*contracts.Error](fault); ok {
		return contracts.Invalid(tree.Join(d.at, refusal.Path), "%s", refusal.Detail)
	}
	d.spec = &spec
	return nil
}

// textOf reads an optional string; its path is "" when it is not there.
func textOf(n tree.Node, at, key string) (field, *contracts.Error) {
	at = tree.Join(at, key)
	value, given := n.Member(key)
	switch {
	case !given:
		return field{}, nil
	case value.Shape != tree.Text:
		return field{}, value.NotText(at)
	}
	return field{value.Text, at}, nil
}

func (d *draft) readLabels(n tree.Node) *contracts.Error {
	at := tree.Join(d.at, "labels")
	list, given := n.Member("labels")
	switch {
	case !given:
		return nil
	case list.Shape != tree.List:
		return contracts.Invalid(at, "must be a list and is %s", list.Shape)
	}
	for i, item := range list.Items {
		label := field{item.Text, fmt.Sprintf("%s[%d]", at, i)}
		switch {
		case item.Shape != tree.Text:
			return item.NotText(label.at)
		case anyMark.MatchString(item.Text):
			return contracts.Invalid(label.at, "has the form of the marks by which loaded tasks are found again")
		}
		d.labels = append(d.labels, label)
	}
	return nil
}

// label turns an optional field into a label of the form "role:analyst".
func (d *draft) label(name string, f field) {
	if f.at != "" {
		d.labels = append(d.labels, field{name + ":" + f.text, f.at})
	}
}

// entry marks the draft and holds it to the rules of POST /v1/tasks, so that the server will not refuse
// what was read here.
func (d *draft) entry() (Entry, *contracts.Error) {
	content := struct {
		Title  string         `json:"title"`
		Goal   string         `json:"goal"`
		Labels []string       `json:"labels"`
		Spec   *artifact.Spec `json:"spec"`
	}{d.title.text, d.goal.text, nil, d.spec}
	for _, label := range d.labels {
		content.Labels = append(content.Labels, label.text)
	}
	task := workflow.CreateTask{Title: content.Title, Goal: content.Goal, Labels: content.Labels}
	mark, err := markOf(d.surface, content)
	if err != nil {
		return Entry{}, contracts.Invalid(d.at, "%v", err)
	}
	task.Labels = append(task.Labels, mark)
	if d.spec != nil {
		if task.ArtifactSpec, err = json.Marshal(d.spec); err != nil {
			return Entry{}, contracts.Invalid(tree.Join(d.at, "artifact_spec"), "%v", err)
		}
	}
	checked := task
	checked.WriteContext = workflow.WriteContext{Resource: "-", InstanceID: "-"}
	if refusal, ok := errors.AsType[*contracts.Error](workflow.Validate(&checked)); ok {
		return Entry{}, contracts.Invalid(d.source(refusal.Path), "%s", refusal.Detail)
	}
	if request, err := json.Marshal(task); err != nil || len(request) > maxRequest {
		return Entry{}, contracts.Invalid(d.at, "makes a request of %d bytes; the limit is %d", len(request), maxRequest)
	}
	return Entry{d.at, task}, nil
}

// source is where the document has what the task has at path.
func (d *draft) source(path string) string {
	switch path {
	case "$.title":
		return d.title.at
	case "$.goal":
		return d.goal.at
	}
	for i, label := range d.labels {
		if path == fmt.Sprintf("$.labels[%d]", i) {
			return label.at
		}
	}
	return tree.Join(d.at, strings.TrimPrefix(path, "$."))
}
