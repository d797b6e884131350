// countersign node: enroll, list, pause, resume, revoke.

package main

import (
	"fmt"
	"strings"

	"countersign/contracts/workflow"
)

type nodeCommands struct {
	Enroll nodeEnroll `cmd:"" help:"Make a node and its token; the secret is shown this once."`
	List   nodeList   `cmd:"" help:"List the nodes of your projects."`
	Pause  nodePause  `cmd:"" help:"Offer a node nothing new; what it does goes on."`
	Resume nodeResume `cmd:"" help:"Offer a paused node work again."`
	Revoke nodeRevoke `cmd:"" help:"End a node for ever: its executions are blocked at once."`
}

type nodeEnroll struct {
	projectFlag
	Name    string   `arg:"" help:"At most 200 characters."`
	Also    []string `placeholder:"PROJECT" help:"A further project the node works for; may be repeated."`
	Account []string `placeholder:"ID:RUNTIME" help:"A provider login on the node and its runtime, codex_cli or claude_code_cli; may be repeated."`
}

// Help is shown by --help.
func (nodeEnroll) Help() string {
	return `--project is the node's anchor: who dispatches to the node needs to be owner or admin there.

Examples:

  countersign node enroll build-1
  countersign node enroll build-2 --account work:codex_cli --account work:claude_code_cli`
}

// Run enrolls.
func (c *nodeEnroll) Run(s *session) error {
	accounts := make([]workflow.Account, 0, len(c.Account))
	for _, a := range c.Account {
		id, runtime, ok := strings.Cut(a, ":")
		if !ok {
			return usageError{fmt.Errorf("--account %q is not ID:RUNTIME", a)}
		}
		accounts = append(accounts, workflow.Account{AccountID: id, Runtime: workflow.Runtime(runtime)})
	}
	r, anchor, err := c.remote(s)
	if err != nil {
		return err
	}
	n, err := r.EnrollNode(s.ctx, workflow.EnrollNode{Name: c.Name, AnchorProjectID: anchor, Projects: c.Also, Accounts: accounts})
	if err != nil {
		return err
	}
	return s.print(n, func() error {
		return s.out.Fields("node", n.Node.ID, "name", n.Node.Name, "anchor", n.Node.AnchorProjectID,
			"token", n.Token+"  (shown this once)")
	})
}

type nodeList struct{}

// Run lists the nodes.
func (nodeList) Run(s *session) error {
	r, err := s.remote()
	if err != nil {
		return err
	}
	nodes, err := r.Nodes(s.ctx)
	if err != nil {
		return err
	}
	return s.print(workflow.NodeList{Nodes: nodes}, func() error {
		rows := make([][]string, 0, len(nodes))
		for _, n := range nodes {
			rows = append(rows, []string{n.ID, string(n.Status), n.Name, accountNames(n.Accounts), n.Note})
		}
		return s.out.Table([]string{"ID", "STATUS", "NAME", "ACCOUNTS", "NOTE"}, rows)
	})
}

func accountNames(accounts []workflow.Account) string {
	names := make([]string, 0, len(accounts))
	for _, a := range accounts {
		names = append(names, a.AccountID+":"+string(a.Runtime))
	}
	return strings.Join(names, " ")
}

type nodePause struct{ nodeChange }

// Run pauses.
func (c *nodePause) Run(s *session) error { return c.set(s, workflow.NodePaused) }

type nodeResume struct{ nodeChange }

// Run resumes.
func (c *nodeResume) Run(s *session) error { return c.set(s, workflow.NodeActive) }

type nodeRevoke struct{ nodeChange }

// Run revokes.
func (c *nodeRevoke) Run(s *session) error { return c.set(s, workflow.NodeRevoked) }

// nodeChange is what changes of a node's status have in common.
type nodeChange struct {
	Node string `arg:"" help:"The node's id."`
	Note string `placeholder:"TEXT" help:"Why, for whoever looks later."`
}

func (c *nodeChange) set(s *session, status workflow.NodeStatus) error {
	if err := checkID("node", c.Node); err != nil {
		return err
	}
	r, err := s.remote()
	if err != nil {
		return err
	}
	patch := workflow.PatchNode{Status: &status}
	if c.Note != "" {
		patch.Note = &c.Note
	}
	n, err := r.PatchNode(s.ctx, c.Node, patch)
	if err != nil {
		return err
	}
	return s.print(n, func() error {
		return s.out.Fields("node", n.ID, "name", n.Name, "status", string(n.Status), "note", n.Note)
	})
}
