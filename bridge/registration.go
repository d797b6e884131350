// What a runtime registers of its sessions, and the capability report that the bridge makes of it.

package bridge

import (
	"time"

	"countersign/contracts/capability"
)

// Registration is a runtime's own record of what one session offers, as it stands when it is asked: which
// tools there are, what is known of them, and whether there is room for a worker. A runtime that cannot
// say something leaves it zero, which proves nothing.
type Registration struct {
	Host, HostVersion string
	Tool, ToolVersion string
	Surface           capability.SurfaceState
	// Complete says that Tools are all there are, Basis how that is known.
	Complete bool
	Basis    string
	Tools    []RegisteredTool
	// Selection is the id of the tool that wins by its schema's behaviour, where several qualify.
	Selection string
	Facts     capability.CapabilityFacts
	Capacity  capability.Capacity
	// Isolation and Model are what the runtime's calls are seen to be once they run.
	Isolation capability.Isolation
	Model     capability.ModelSelection
}

// RegisteredTool is one tool that might be a worker. Schema is the provider's own text by field name and
// is only ever quoted; Directive says whether it holds a prompt-like directive, null when nobody judged.
type RegisteredTool struct {
	ID          string
	Schema      map[string]string
	Directive   *bool
	Eligibility capability.Eligibility
}

// report is the registration as the capability contract wants it.
func (r Registration) report(at time.Time) *capability.Report {
	d := &capability.Discovery{
		Surface: r.Surface, CaptureMethod: capability.CaptureStartupRegistration, SchemaCompleteness: "unconfirmed",
		Candidates: []capability.Candidate{},
	}
	if r.Complete {
		d.SchemaCompleteness, d.CompletenessBasis = capability.CompletenessConfirmed, &r.Basis
	}
	for _, tool := range r.Tools {
		c := capability.Quote(tool.Schema).Candidate(tool.ID)
		c.PromptLikeDirective, c.Eligibility = tool.Directive, tool.Eligibility
		d.Candidates = append(d.Candidates, c)
	}
	if r.Selection != "" {
		d.Selection = &capability.Selection{Winner: r.Selection, Basis: capability.SelectionBySchema}
	}
	return &capability.Report{
		SessionIdentity: capability.SessionIdentity{
			Host: r.Host, HostVersion: r.HostVersion, Tool: r.Tool, ToolVersion: r.ToolVersion, Contract: capability.Version,
		},
		CapturedAt: at.UTC().Format(time.RFC3339Nano), Discovery: d, CapabilityFacts: r.Facts, Capacity: r.Capacity,
	}
}
