// A plan: stages of steps, each step a task.

package planning

import (
	"fmt"

	"countersign/contracts"
	"countersign/contracts/tree"
)

// MaxSteps is how many steps a plan may have in all.
const MaxSteps = 1000

// ParsePlan reads a plan, YAML or JSON: {name?, description?, stages: [{name?, steps: [{title, goal?,
// description?, role?, labels?, artifact_spec?}]}]}, closed at every level. description is another name
// of a step's goal, whose default is the title; a role becomes the label "role:…" and a stage's name
// "stage:…". The entries are in the plan's order and have distinct marks. The error is a
// *contracts.Error of code invalid whose path names the fault
// ("stages[0].steps[2].artifact_spec.criteria[0].type"), "" the plan as a whole.
func ParsePlan(data []byte) ([]Entry, error) {
	entries, refusal := parsePlan(data)
	if refusal != nil {
		return nil, refusal
	}
	if err := Distinguish(entries); err != nil {
		return nil, err
	}
	return entries, nil
}

func parsePlan(data []byte) ([]Entry, *contracts.Error) {
	if len(data) > MaxBytes {
		return nil, contracts.Invalid("", "a plan has at most %d bytes", MaxBytes)
	}
	plan, err := tree.Read(data, "")
	if err != nil {
		return nil, err
	}
	if err := plan.OnlyKeys("", "name", "description", "stages"); err != nil {
		return nil, err
	}
	for _, key := range []string{"name", "description"} {
		if _, err := textOf(plan, "", key); err != nil {
			return nil, err
		}
	}
	stages, err := listOf(plan, "", "stages")
	if err != nil {
		return nil, err
	}
	var entries []Entry
	for i, stage := range stages {
		at := fmt.Sprintf("stages[%d]", i)
		if err := stage.OnlyKeys(at, "name", "steps"); err != nil {
			return nil, err
		}
		name, err := textOf(stage, at, "name")
		if err != nil {
			return nil, err
		}
		steps, err := listOf(stage, at, "steps")
		if err != nil {
			return nil, err
		}
		for j, step := range steps {
			entry, err := stepOf(step, fmt.Sprintf("%s.steps[%d]", at, j), name)
			if err != nil {
				return nil, err
			}
			entries = append(entries, entry)
		}
	}
	if len(entries) > MaxSteps {
		return nil, contracts.Invalid("stages", "a plan has at most %d steps and this one has %d", MaxSteps, len(entries))
	}
	return entries, nil
}

// listOf reads a list that must be there and must hold something.
func listOf(n tree.Node, at, key string) ([]tree.Node, *contracts.Error) {
	at = tree.Join(at, key)
	value, given := n.Member(key)
	switch {
	case !given:
		return nil, contracts.Invalid(at, "is required")
	case value.Shape != tree.List:
		return nil, contracts.Invalid(at, "must be a list and is %s", value.Shape)
	case len(value.Items) == 0:
		return nil, contracts.Invalid(at, "must not be empty")
	}
	return value.Items, nil
}

func stepOf(n tree.Node, at string, stage field) (Entry, *contracts.Error) {
	d := draft{surface: "plan", at: at}
	if err := d.read(n, "title", "goal", "description", "role", "labels", "artifact_spec"); err != nil {
		return Entry{}, err
	}
	d.label("stage", stage)
	goal, err := textOf(n, at, "goal")
	if err != nil {
		return Entry{}, err
	}
	description, err := textOf(n, at, "description")
	if err != nil {
		return Entry{}, err
	}
	switch {
	case goal.at != "" && description.at != "":
		return Entry{}, contracts.Invalid(description.at, "is another name of goal; give one of them")
	case goal.at != "":
		d.goal = goal
	case description.at != "":
		d.goal = description
	default:
		d.goal = d.title
	}
	return d.entry()
}
