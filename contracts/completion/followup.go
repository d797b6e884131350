// The follow-up tasks that a scope_exceeded refusal leads to.

package completion

import (
	"strconv"

	"countersign/contracts/canonjson"
)

// FollowUpPrefix opens the id of every derived task; no other id may have it.
const FollowUpPrefix = "fu-"

// FollowUp is one task derived from an item of a proposed split.
type FollowUp struct {
	// ID is FollowUpPrefix and 12 lowercase hex characters that depend on the parent, the
	// contract's version, the item's index and its text, and on nothing else.
	ID string
	// Title is the item, cut to 77 characters (Unicode code points) and "..." when longer than 80.
	Title string
	// Goal is the item as sent.
	Goal string
}

// FollowUps derives one task per item of a scope_exceeded refusal's proposed split, in its order;
// none for another kind. The same refusal of the same parent always gives the same tasks, so that a
// refusal delivered twice cannot split a task twice.
func FollowUps(parentTaskID string, r Refusal) []FollowUp {
	if r.Kind != KindScopeExceeded {
		return nil
	}
	tasks := make([]FollowUp, len(r.ProposedSplit))
	for i, item := range r.ProposedSplit {
		input := parentTaskID + "|" + Version + "|" + strconv.Itoa(i) + "|" + item
		tasks[i] = FollowUp{
			ID:    FollowUpPrefix + canonjson.Digest([]byte(input))[:12],
			Title: title(item),
			Goal:  item,
		}
	}
	return tasks
}

func title(item string) string {
	const longest, kept = 80, 77
	characters := []rune(item)
	if len(characters) <= longest {
		return item
	}
	return string(characters[:kept]) + "..."
}
