// What the demo dispatches: a worker that misspells a greeting, a verifier that notices, a correction.

package demo

import (
	"countersign/contracts/workflow"

	"github.com/go-json-experiment/json"
)

const (
	title  = "Greet the world"
	goal   = "The file greeting.txt greets the world, spelled right."
	branch = "demo/greeting"
)

type step map[string]any

func edit(text string) step {
	return step{"edit": map[string]any{"path": "greeting.txt", "content": text + "\n"}}
}

// scenario is what the synthetic runtime does, attempt by attempt, told in the prompt.
func scenario() (string, error) {
	data, err := json.Marshal(map[string]any{"synthetic": map[string]any{
		"work": [][]step{
			{edit("Hello, wrold!"), {"commit": "Greet the world"}, {"summary": "greeting.txt greets the world"}},
			{edit("Hello, world!"), {"commit": "Spell it right"}, {"summary": "greeting.txt greets the world, spelled right"}},
		},
		"verify": [][]step{
			{{"verdict": map[string]any{
				"greets":  map[string]any{"outcome": "pass", "feedback": "greeting.txt says hello."},
				"spelled": map[string]any{"outcome": "fail", "feedback": "It says wrold; it should say world."},
			}}},
			{{"verdict": map[string]any{
				"greets":  map[string]any{"outcome": "pass", "feedback": "greeting.txt says hello."},
				"spelled": map[string]any{"outcome": "pass", "feedback": "Every word is spelled right."},
			}}},
		},
	}}, json.Deterministic(true))
	return string(data), err
}

func profile(id, instructions string, writes bool) workflow.Profile {
	return workflow.Profile{
		ProfileID: id, Version: workflow.StringVersion("1"), Runtime: workflow.RuntimeSynthetic,
		Instructions: instructions, AllowWorkspaceWrites: writes,
	}
}

// spec is what is dispatched for a task on a repository.
func spec(task workflow.Task, nodeID, key, workspace, base string) (workflow.Spec, error) {
	prompt, err := scenario()
	if err != nil {
		return workflow.Spec{}, err
	}
	return workflow.Spec{
		Profile:  profile("demo-worker", "Do what the prompt says.", true),
		Verifier: profile("demo-verifier", "Judge each criterion by what the candidate holds.", false),
		Assignment: workflow.Assignment{
			TaskID: task.ID, ExpectedTaskVersion: task.Version, BridgeID: nodeID, IdempotencyKey: key,
			Workspace: workspace, BaseCommit: base, Branch: branch, Prompt: prompt,
			Criteria: []workflow.Criterion{
				{ID: "greets", Description: "greeting.txt says hello.", Method: "Read greeting.txt."},
				{ID: "spelled", Description: "Every word is spelled right.", Method: "Read greeting.txt."},
			},
		},
	}, nil
}
