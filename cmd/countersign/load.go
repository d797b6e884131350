// Making tasks of entries that may be tasks already.

package main

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	"countersign/api/client"
	"countersign/contracts/planning"
	"countersign/contracts/workflow"
)

// What becomes of an entry.
const (
	entryCreated = "created"
	entryExists  = "exists"  // a task has its mark, whatever the task's status
	entryUnknown = "unknown" // the server was asked and gave no answer: there may be a task
	entryPending = "pending" // not a task
)

// loadedEntry is what became of one entry.
type loadedEntry struct {
	Title   string              `json:"title,omitzero"`
	Outcome string              `json:"outcome"`
	TaskID  string              `json:"task_id,omitzero"`
	Status  workflow.TaskStatus `json:"status,omitzero"`
}

// load makes a task of every entry that has none in the project, in order, and stops at the first that
// fails. It returns what became of each, also beside an error; nil when nothing was tried. Marks make it
// safe to repeat; two loads of the same entries at the same time are not told apart.
func (s *session) load(r remote, project string, entries []planning.Entry) ([]loadedEntry, error) {
	marked, err := s.marked(r, project, entries)
	if err != nil {
		return nil, err
	}
	loaded := make([]loadedEntry, len(entries))
	for i, entry := range entries {
		loaded[i] = loadedEntry{Title: entry.Task.Title, Outcome: entryPending}
		if task, ok := marked[entry.Mark()]; ok {
			loaded[i].Outcome, loaded[i].TaskID, loaded[i].Status = entryExists, task.ID, task.Status
		}
	}
	for i, entry := range entries {
		if loaded[i].Outcome == entryExists {
			continue
		}
		task, err := r.CreateTask(s.ctx, project, entry.Task)
		if err != nil {
			if uncertain(err) {
				loaded[i].Outcome = entryUnknown
			}
			return loaded, err
		}
		loaded[i].Outcome, loaded[i].TaskID, loaded[i].Status = entryCreated, task.ID, task.Status
	}
	return loaded, nil
}

// marked finds the tasks that have the entries' marks; it reads the project's tasks page by page.
func (s *session) marked(r remote, project string, entries []planning.Entry) (map[string]workflow.Task, error) {
	wanted := map[string]bool{}
	for _, entry := range entries {
		wanted[entry.Mark()] = true
	}
	found := map[string]workflow.Task{}
	for query := (workflow.TaskQuery{ProjectID: project, Limit: 100}); len(found) < len(wanted); {
		list, err := r.Tasks(s.ctx, query)
		if err != nil {
			return nil, err
		}
		for _, task := range list.Tasks {
			for _, label := range task.Labels {
				if wanted[label] {
					found[label] = task
				}
			}
		}
		if list.NextAfter == nil {
			break
		}
		query.After = *list.NextAfter
	}
	return found, nil
}

// uncertain reports whether a call that failed may have taken effect.
func uncertain(err error) bool {
	refusal, answered := errors.AsType[*client.Refusal](err)
	return !answered || refusal.Status >= http.StatusInternalServerError
}

// brokenOff says how far a load came that ended with an error, and where it goes on: at its first entry
// that is no task. name gives an entry's name.
func brokenOff(loaded []loadedEntry, what string, name func(int) string, err error) error {
	tasks := 0
	for _, l := range loaded {
		if l.TaskID != "" {
			tasks++
		}
	}
	next := slices.IndexFunc(loaded, func(l loadedEntry) bool { return l.TaskID == "" })
	return fmt.Errorf("%s: %w; %d of %d %s are tasks, the same command goes on from here", name(next), err, tasks, len(loaded), what)
}

// row is what a person's table says of an entry.
func (l loadedEntry) row() []string {
	outcome := l.Outcome
	if outcome == entryExists {
		outcome = fmt.Sprintf("%s (%s)", outcome, l.Status)
	}
	id := l.TaskID
	if id == "" {
		id = "-"
	}
	return []string{id, outcome, l.Title}
}
