// The scenario: what a synthetic agent is told to do, as JSON in the prompt.

package bridge

import (
	"fmt"
	"regexp"

	"countersign/contracts/canonjson"
	"countersign/contracts/workflow"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A prompt is a scenario when it is a JSON object whose only key is "synthetic":
//
//	{"synthetic": {
//	  "work":   [ [step, …], [step, …] ],
//	  "verify": [ [step, …], [step, …] ]
//	}}
//
// Each list holds the steps of the first, the second … attempt of its purpose; further attempts
// repeat the last list. A purpose without a list does the default. A step is an object with exactly
// one key. Any other prompt is for a default agent.
type scenario struct {
	Work   [][]scriptStep `json:"work,omitzero"`
	Verify [][]scriptStep `json:"verify,omitzero"`
	// Session changes what the sessions register, see sessionScript.
	Session *sessionScripts `json:"session,omitzero"`
}

// scriptStep is one step; exactly one field is set. Paths are relative to the worktree and stay in it.
type scriptStep struct {
	// Edit writes a file, Delete removes one, Commit commits everything.
	Edit   *editStep `json:"edit,omitzero"`
	Delete *string   `json:"delete,omitzero"`
	// Link makes a symbolic link, wherever it points.
	Link   *linkStep `json:"link,omitzero"`
	Commit *string   `json:"commit,omitzero"`
	// Sleep waits ("1.5s"); Hang waits for ever.
	Sleep *string   `json:"sleep,omitzero"`
	Hang  *hangStep `json:"hang,omitzero"`
	// Emit prints something that is no event of the protocol.
	Emit *emitStep `json:"emit,omitzero"`
	// Crash ends the agent at once.
	Crash *crashStep `json:"crash,omitzero"`
	// Dirty leaves the worktree dirty in a named way, "open" for one.
	Dirty *string `json:"dirty,omitzero"`
	// Child starts a process that stays when the agent has ended.
	Child *childStep `json:"child,omitzero"`
	// Session prints another session id than the fresh one, "" for none at all; first step only.
	Session *string `json:"session,omitzero"`
	// Environment writes the names and values of the agent's environment to a file.
	Environment *string `json:"environment,omitzero"`
	// Summary, Completion and Refuse are a worker's answer.
	Summary    *string        `json:"summary,omitzero"`
	Completion jsontext.Value `json:"completion,omitzero"`
	Refuse     jsontext.Value `json:"refuse,omitzero"`
	// Verdict judges the criteria named; the others pass if the candidate stands up to a real check.
	Verdict map[string]judgement `json:"verdict,omitzero"`
	// Results is a verifier's answer word for word, whatever it is worth.
	Results []CriterionClaim `json:"results,omitzero"`
}

type editStep struct {
	Path    string `json:"path"`
	Content string `json:"content"`
	// Mode is the file's permission in octal, "644" when absent.
	Mode string `json:"mode,omitzero"`
}

type linkStep struct {
	Path   string `json:"path"`
	Target string `json:"target"`
}

type judgement struct {
	Outcome  string `json:"outcome"`
	Feedback string `json:"feedback"`
}

type emitStep struct {
	Text string `json:"text,omitzero"`
	// Bytes pads the line to a length.
	Bytes  int  `json:"bytes,omitzero"`
	Stderr bool `json:"stderr,omitzero"`
}

type hangStep struct {
	IgnoreSigterm bool `json:"ignore_sigterm,omitzero"`
}

type crashStep struct {
	// Exit is the status; Signal, a number, ends the agent by that signal instead.
	Exit   int `json:"exit,omitzero"`
	Signal int `json:"signal,omitzero"`
	// AfterResult prints a good terminal event first.
	AfterResult bool `json:"after_result,omitzero"`
}

type childStep struct {
	// Setsid gives the child a session of its own.
	Setsid        bool `json:"setsid,omitzero"`
	IgnoreSigterm bool `json:"ignore_sigterm,omitzero"`
	// HoldStdout leaves the agent's standard output open in the child.
	HoldStdout bool `json:"hold_stdout,omitzero"`
	// ClearEnvironment takes the marker away from the child.
	ClearEnvironment bool `json:"clear_environment,omitzero"`
}

// scenarioStart is how a prompt begins that was meant to be a scenario.
var scenarioStart = regexp.MustCompile(`^\s*\{\s*"synthetic"`)

// brokenScenario says where the fault is, in the words of JSON. A scenario is read more freely than
// anything else, for it may hold payloads that are wrong on purpose; whatever fails here fails there too.
func brokenScenario(prompt string, err error) error {
	var strict struct {
		Synthetic scenario `json:"synthetic"`
	}
	if said := canonjson.Decode([]byte(prompt), &strict); said != nil {
		err = said
	}
	return fmt.Errorf("broken scenario: %w", err)
}

// parseScenario returns nil for a prompt that is not a scenario, and an error for one that is a
// broken one.
func parseScenario(prompt string) (*scenario, error) {
	var outer map[string]jsontext.Value
	if err := json.Unmarshal([]byte(prompt), &outer); err != nil {
		if !scenarioStart.MatchString(prompt) {
			return nil, nil
		}
		return nil, brokenScenario(prompt, err)
	}
	if len(outer) != 1 || outer["synthetic"] == nil {
		return nil, nil
	}
	s := &scenario{}
	if err := json.Unmarshal(outer["synthetic"], s, json.RejectUnknownMembers(true)); err != nil {
		return nil, brokenScenario(prompt, err)
	}
	for _, lists := range [][][]scriptStep{s.Work, s.Verify} {
		for _, steps := range lists {
			for i := range steps {
				if n := steps[i].keys(); n != 1 {
					return nil, fmt.Errorf("broken scenario: a step has %d keys instead of one", n)
				}
			}
		}
	}
	return s, nil
}

// keys counts what is set.
func (s *scriptStep) keys() int {
	data, err := json.Marshal(s)
	if err != nil {
		return 0
	}
	var object map[string]jsontext.Value
	if json.Unmarshal(data, &object) != nil {
		return 0
	}
	return len(object)
}

// steps are those of an attempt, nil for the default.
func (s *scenario) steps(p workflow.Purpose, attempt int) []scriptStep {
	if s == nil {
		return nil
	}
	lists := s.Work
	if p == workflow.PurposeVerify {
		lists = s.Verify
	}
	if len(lists) == 0 {
		return nil
	}
	return lists[min(max(attempt, 1), len(lists))-1]
}
