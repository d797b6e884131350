// What the synthetic runtime registers of its sessions, and how a scenario makes it register otherwise.

package bridge

import (
	"countersign/contracts/capability"
	"countersign/contracts/workflow"
)

// sessionScript changes what one attempt's session registers; what is absent stays as it is. It is how a
// scenario produces every session that may not be used.
type sessionScript struct {
	// Surface is present, none or failed.
	Surface *capability.SurfaceState `json:"surface,omitzero"`
	// Incomplete leaves the completeness of the registry unconfirmed.
	Incomplete bool `json:"incomplete,omitzero"`
	// Tools replace the one worker; Selection picks one of them.
	Tools     []toolScript `json:"tools,omitzero"`
	Selection string       `json:"selection,omitzero"`
	// Capacity are the words of the first, the second … report: available, limited or error. Further
	// reports repeat the last.
	Capacity []capability.Capacity `json:"capacity,omitzero"`
	// Isolation and Model are the facts before the call, ObservedIsolation and ObservedModel what is then
	// seen of it.
	Isolation         *capability.Isolation      `json:"isolation,omitzero"`
	Model             *capability.Support        `json:"model,omitzero"`
	ObservedIsolation *capability.Isolation      `json:"observed_isolation,omitzero"`
	ObservedModel     *capability.ModelSelection `json:"observed_model,omitzero"`
	// Nameless leaves the tool's version out.
	Nameless bool `json:"nameless,omitzero"`
}

// toolScript is one registered tool. Eligible is the verdict on all five conditions at once.
type toolScript struct {
	ID          string `json:"id"`
	Description string `json:"description"`
	Parameters  string `json:"parameters,omitzero"`
	Directive   *bool  `json:"directive"`
	Eligible    *bool  `json:"eligible"`
}

// sessionScripts are those of the first, the second … attempt of each purpose; further attempts repeat
// the last.
type sessionScripts struct {
	Work   []sessionScript `json:"work,omitzero"`
	Verify []sessionScript `json:"verify,omitzero"`
}

// session is the script of an attempt, the zero one for none.
func (s *scenario) session(p workflow.Purpose, attempt int) sessionScript {
	if s == nil || s.Session == nil {
		return sessionScript{}
	}
	scripts := s.Session.Work
	if p == workflow.PurposeVerify {
		scripts = s.Session.Verify
	}
	if len(scripts) == 0 {
		return sessionScript{}
	}
	return scripts[min(max(attempt, 1), len(scripts))-1]
}

// syntheticTool is the version of the synthetic agent's own protocol.
const syntheticTool = "1"

// Register is true of the synthetic agent: it is one process of its own for each job, with nothing of any
// other in it, and it has no model to choose.
func (s synthetic) Register(job Job, try int) Registration {
	r := Registration{
		Host: "countersign-bridge", HostVersion: s.version, Tool: "synthetic-agent", ToolVersion: syntheticTool,
		Surface: capability.DiscoveryPresent, Complete: true, Basis: "the bridge itself registers the one tool of this runtime",
		Tools: []RegisteredTool{tool(toolScript{
			ID: "synthetic-agent", Description: "Takes one self-contained job on standard input, works in one directory, prints one result and ends.",
			Parameters: "job: JSON", Directive: new(false), Eligible: new(true),
		})},
		Facts: capability.CapabilityFacts{
			WorkerContextIsolation: capability.IsolationIsolated, WorkerModelOverride: capability.Unsupported, WorkerBoundedParallelism: capability.Unsupported,
		},
		Capacity: capability.CapacityAvailable, Isolation: capability.IsolationIsolated, Model: capability.ModelInherited,
	}
	script, err := parseScenario(job.Plan.Prompt)
	if err != nil {
		return r // the agent itself will say so
	}
	script.session(job.Plan.Workflow.Purpose, job.Attempt).change(&r, try)
	return r
}

func tool(t toolScript) RegisteredTool {
	schema := map[string]string{"name": t.ID, "description": t.Description}
	if t.Parameters != "" {
		schema["parameters"] = t.Parameters
	}
	return RegisteredTool{ID: t.ID, Schema: schema, Directive: t.Directive, Eligibility: capability.Eligibility{
		SelfContainedPacket: t.Eligible, BoundedStop: t.Eligible, MutationScopeExpressible: t.Eligible, ReadableOutput: t.Eligible, NoHostMapping: t.Eligible,
	}}
}

// change makes of an honest registration what the script says.
func (s sessionScript) change(r *Registration, try int) {
	set(&r.Surface, s.Surface)
	set(&r.Facts.WorkerContextIsolation, s.Isolation)
	set(&r.Facts.WorkerModelOverride, s.Model)
	set(&r.Isolation, s.ObservedIsolation)
	set(&r.Model, s.ObservedModel)
	r.Complete, r.Selection = r.Complete && !s.Incomplete, s.Selection
	if s.Nameless {
		r.ToolVersion = ""
	}
	if s.Tools != nil {
		r.Tools = nil
		for _, t := range s.Tools {
			r.Tools = append(r.Tools, tool(t))
		}
	}
	if n := len(s.Capacity); n > 0 {
		r.Capacity = s.Capacity[min(max(try, 1), n)-1]
	}
}

func set[T any](field, value *T) {
	if value != nil {
		*field = *value
	}
}
