// A worker's refusal in its own words.

package main

import (
	"strings"

	"countersign/contracts/completion"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// refusalOf reads a refusal as the server keeps it; empty where there is none, or none that this
// program understands.
func refusalOf(kept jsontext.Value) (r completion.Refusal) {
	if kept == nil || json.Unmarshal(kept, &r) != nil {
		return completion.Refusal{}
	}
	return r
}

// refusalFields are the name and value pairs of a refusal.
func refusalFields(kept jsontext.Value) []string {
	r := refusalOf(kept)
	return []string{
		"refusal", r.Detail, "question", r.Question, "dependency", r.BlockingDep, "proposed split", strings.Join(r.ProposedSplit, "; "),
	}
}
