// countersign agent and source: the catalog's agents and the documents they may be made of.

package main

import (
	"countersign/contracts/canonjson"
	"countersign/contracts/workflow"
)

type agentCommands struct {
	Create    agentCreate    `cmd:"" help:"Make an agent, still without a version."`
	Add       agentAdd       `cmd:"" help:"Add a version to an agent; it becomes the latest."`
	List      agentList      `cmd:"" help:"List a project's agents and their versions."`
	Deprecate agentDeprecate `cmd:"" help:"Deprecate a version; the latest one disables its agent."`
	Restore   agentRestore   `cmd:"" help:"Make a deprecated version active again."`
}

type agentCreate struct {
	projectFlag
	Name string `arg:"" help:"At most 200 characters."`
}

// Run makes the agent.
func (c *agentCreate) Run(s *session) error {
	r, project, err := c.remote(s)
	if err != nil {
		return err
	}
	a, err := r.CreateAgent(s.ctx, workflow.CreateAgent{ProjectID: project, Name: c.Name})
	if err != nil {
		return err
	}
	return s.print(a, func() error { return s.out.Fields("agent", a.ID, "name", a.Name, "project", a.ProjectID) })
}

type agentAdd struct {
	Agent string `arg:"" help:"The agent's id."`
	File  string `arg:"" help:"JSON: the version; - for standard input."`
}

// Help is shown by --help.
func (agentAdd) Help() string {
	return `References are paths of documents in the project's repository:

  {
    "version": 1, "runtime": "synthetic", "model": "...", "provider": "...", "reasoning": "high",
    "role": {"heartbeat": "agents/worker/heartbeat.md", "instructions": "agents/worker/instructions.md"},
    "soul": "agents/worker/soul.md",
    "skills": [{"id": "go", "version": 1, "ref": "skills/go.md"}]
  }`
}

// Run adds the version.
func (c *agentAdd) Run(s *session) error {
	if err := checkID("agent", c.Agent); err != nil {
		return err
	}
	data, err := s.readInput(c.File)
	if err != nil {
		return err
	}
	var version workflow.AddAgentVersion
	if err := canonjson.Decode(data, &version); err != nil {
		return about(c.File, err)
	}
	if err := workflow.Validate(&version); err != nil {
		return about(c.File, err)
	}
	r, err := s.remote()
	if err != nil {
		return err
	}
	v, err := r.AddAgentVersion(s.ctx, c.Agent, version)
	if err != nil {
		return err
	}
	return s.printVersion(c.Agent, v)
}

func (s *session) printVersion(agentID string, v workflow.AgentVersion) error {
	return s.print(v, func() error {
		return s.out.Fields("agent", agentID, "version", v.Version.Text(), "status", string(v.Status), "runtime", string(v.Runtime))
	})
}

type agentList struct{ projectFlag }

// Run lists the agents.
func (c *agentList) Run(s *session) error {
	r, project, err := c.remote(s)
	if err != nil {
		return err
	}
	agents, err := r.Agents(s.ctx, project)
	if err != nil {
		return err
	}
	return s.print(workflow.AgentList{Agents: agents}, func() error {
		var rows [][]string
		for _, a := range agents {
			if len(a.Versions) == 0 {
				rows = append(rows, []string{a.ID, a.Name, "", "", ""})
			}
			for _, v := range a.Versions {
				rows = append(rows, []string{a.ID, a.Name, v.Version.Text(), string(v.Status), string(v.Runtime)})
			}
		}
		return s.out.Table([]string{"ID", "NAME", "VERSION", "STATUS", "RUNTIME"}, rows)
	})
}

type agentDeprecate struct{ agentChange }

// Run deprecates.
func (c *agentDeprecate) Run(s *session) error { return c.set(s, workflow.AgentDeprecated) }

type agentRestore struct{ agentChange }

// Run makes active.
func (c *agentRestore) Run(s *session) error { return c.set(s, workflow.AgentActive) }

// agentChange is what changes of a version's status have in common.
type agentChange struct {
	Agent   string `arg:"" help:"The agent's id."`
	Version string `arg:"" help:"The version."`
}

func (c *agentChange) set(s *session, status workflow.AgentStatus) error {
	if err := checkID("agent", c.Agent); err != nil {
		return err
	}
	r, err := s.remote()
	if err != nil {
		return err
	}
	v, err := r.PatchAgentVersion(s.ctx, c.Agent, c.Version, workflow.PatchAgentVersion{Status: status})
	if err != nil {
		return err
	}
	return s.printVersion(c.Agent, v)
}

type sourceCommands struct {
	Add    sourceAdd    `cmd:"" help:"Allow a document of the project's repository."`
	List   sourceList   `cmd:"" help:"List a project's sources."`
	Revoke sourceRevoke `cmd:"" help:"Stop new dispatches from a source; what is frozen stays."`
}

type sourceAdd struct {
	projectFlag
	Path string `arg:"" help:"The document's path in the repository."`
}

// Run adds the source.
func (c *sourceAdd) Run(s *session) error {
	return c.one(s, func(r remote, project string) (workflow.Source, error) {
		return r.AddSource(s.ctx, project, workflow.AddSource{Path: c.Path})
	})
}

type sourceRevoke struct {
	projectFlag
	Source string `arg:"" help:"The source's id."`
}

// Run revokes.
func (c *sourceRevoke) Run(s *session) error {
	if err := checkID("source", c.Source); err != nil {
		return err
	}
	return c.one(s, func(r remote, project string) (workflow.Source, error) {
		return r.RevokeSource(s.ctx, project, c.Source)
	})
}

// one makes a call about one source of the project and shows it.
func (f projectFlag) one(s *session, call func(remote, string) (workflow.Source, error)) error {
	r, project, err := f.remote(s)
	if err != nil {
		return err
	}
	src, err := call(r, project)
	if err != nil {
		return err
	}
	return s.print(src, func() error {
		return s.out.Fields("source", src.ID, "path", src.Path, "status", sourceStatus(src))
	})
}

type sourceList struct{ projectFlag }

// Run lists the sources.
func (c *sourceList) Run(s *session) error {
	r, project, err := c.remote(s)
	if err != nil {
		return err
	}
	sources, err := r.Sources(s.ctx, project)
	if err != nil {
		return err
	}
	return s.print(workflow.SourceList{Sources: sources}, func() error {
		rows := make([][]string, 0, len(sources))
		for _, src := range sources {
			rows = append(rows, []string{src.ID, sourceStatus(src), src.Path})
		}
		return s.out.Table([]string{"ID", "STATUS", "PATH"}, rows)
	})
}

func sourceStatus(src workflow.Source) string {
	if src.RevokedAt != nil {
		return "revoked"
	}
	return "active"
}
