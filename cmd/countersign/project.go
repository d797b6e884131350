// countersign project and member: where tasks belong, and who may do what there.

package main

import (
	"strconv"

	"countersign/contracts/workflow"
)

type projectCommands struct {
	Create projectCreate `cmd:"" help:"Make a project; you become its owner."`
	List   projectList   `cmd:"" help:"List your projects."`
	Attach projectAttach `cmd:"" help:"Record a file in a project's lineage, for reports to anchor figures to."`
}

type projectCreate struct {
	Name       string `arg:"" help:"At most 200 characters."`
	Repository string `required:"" placeholder:"URL" help:"The repository that its tasks are about."`
}

// Run makes the project.
func (c *projectCreate) Run(s *session) error {
	r, err := s.remote()
	if err != nil {
		return err
	}
	p, err := r.CreateProject(s.ctx, workflow.CreateProject{Name: c.Name, Repository: c.Repository})
	if err != nil {
		return err
	}
	return s.print(p, func() error {
		return s.out.Fields("project", p.ID, "name", p.Name, "repository", p.Repository)
	})
}

type projectList struct{}

// Run lists the projects.
func (projectList) Run(s *session) error {
	r, err := s.remote()
	if err != nil {
		return err
	}
	projects, err := r.Projects(s.ctx)
	if err != nil {
		return err
	}
	return s.print(workflow.ProjectList{Projects: projects}, func() error {
		rows := make([][]string, 0, len(projects))
		for _, p := range projects {
			rows = append(rows, []string{p.ID, p.Name, p.Repository})
		}
		return s.out.Table([]string{"ID", "NAME", "REPOSITORY"}, rows)
	})
}

type projectAttach struct {
	projectFlag
	File string `arg:"" help:"The file, recorded as it is, at most 64 MiB; - for standard input."`
}

// Run attaches.
func (c *projectAttach) Run(s *session) error {
	r, project, err := c.remote(s)
	if err != nil {
		return err
	}
	in, err := s.openInput(c.File)
	if err != nil {
		return err
	}
	defer in.Close()
	e, err := r.Attach(s.ctx, project, in)
	if err != nil {
		return err
	}
	return s.print(e, func() error {
		return s.out.Fields("content hash", e.ContentHash, "entry hash", e.EntryHash, "position", strconv.FormatInt(e.Position, 10), "bytes", strconv.FormatInt(e.Bytes, 10))
	})
}

type memberCommands struct {
	Set  memberSet  `cmd:"" help:"Give a user a place in a project, or change it."`
	List memberList `cmd:"" help:"List a project's members."`
}

type memberSet struct {
	projectFlag
	User      string `arg:"" help:"The user's name."`
	Role      string `required:"" enum:"owner,admin,member,viewer" placeholder:"ROLE" help:"owner, admin, member or viewer."`
	Suspended bool   `help:"Keep the place but take its rights away."`
}

// Run sets the membership.
func (c *memberSet) Run(s *session) error {
	r, project, err := c.remote(s)
	if err != nil {
		return err
	}
	status := "active"
	if c.Suspended {
		status = "suspended"
	}
	m, err := r.PutMember(s.ctx, project, c.User, workflow.PutMember{Role: workflow.Role(c.Role), Status: status})
	if err != nil {
		return err
	}
	return s.print(m, func() error {
		return s.out.Fields("project", m.ProjectID, "user", m.User, "role", string(m.Role), "status", m.Status)
	})
}

type memberList struct{ projectFlag }

// Run lists the members.
func (c *memberList) Run(s *session) error {
	r, project, err := c.remote(s)
	if err != nil {
		return err
	}
	members, err := r.Members(s.ctx, project)
	if err != nil {
		return err
	}
	return s.print(workflow.MemberList{Members: members}, func() error {
		rows := make([][]string, 0, len(members))
		for _, m := range members {
			rows = append(rows, []string{m.User, string(m.Role), m.Status})
		}
		return s.out.Table([]string{"USER", "ROLE", "STATUS"}, rows)
	})
}
