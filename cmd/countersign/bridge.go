// countersign bridge: the node's daemon.

package main

import (
	"errors"

	"countersign/bridge"
	"countersign/cmd/countersign/internal/deploy"
	"countersign/cmd/countersign/internal/devfile"
)

type bridgeCommand struct {
	deploy.Log `group:"config"`
	NodeToken  string   `group:"config" env:"COUNTERSIGN_NODE_TOKEN" placeholder:"TOKEN" help:"The node's token, from node enroll; better given by the environment. Default: the dev server's demo node's."`
	Name       string   `group:"config" env:"COUNTERSIGN_NODE_NAME" placeholder:"NAME" help:"What the node is called in its log and in Git's worktree locks."`
	Root       string   `group:"config" type:"path" default:"~/.local/state/countersign/bridge" env:"COUNTERSIGN_BRIDGE_ROOT" placeholder:"DIR" help:"The bridge's own directory, outside every workspace: journals, worktrees, logs (${default})."`
	Workspace  []string `group:"config" required:"" type:"path" env:"COUNTERSIGN_WORKSPACES" placeholder:"DIR" help:"A repository that the node works for, as dispatches name it; may be repeated, in the environment separated by commas."`
}

// Help is shown by --help.
func (bridgeCommand) Help() string {
	return `--server (COUNTERSIGN_URL) is the server. The bridge takes one execution at a time, renews its lease, runs the provider
in a worktree and process group of its own, proves the result and reports it. SIGTERM and SIGINT stop what runs and
report it interrupted; the exit status is then 0. One bridge a root directory.

Examples:

  COUNTERSIGN_NODE_TOKEN=cs_... countersign bridge --server https://countersign.example.com --workspace /srv/repo`
}

// Run works until the program is told to end.
func (c *bridgeCommand) Run(s *session) error {
	o := bridge.Options{
		Server: s.cli.Server, Token: c.NodeToken, NodeID: c.Name, Root: c.Root, Workspaces: c.Workspace, Log: c.Logger(s.errs),
		Version: programVersion(),
	}
	dev, _, err := devfile.Find(".")
	switch {
	case err == nil && (o.Server == "" || sameServer(o.Server, dev.URL)):
		o.Server = dev.URL
		if o.Token == "" {
			o.Token, o.NodeID = dev.NodeToken, dev.NodeID
		}
	case o.Server == "":
		return err
	}
	if o.Token == "" {
		return usageError{errors.New("--node-token (COUNTERSIGN_NODE_TOKEN) is missing")}
	}
	node, err := bridge.New(o)
	if err != nil {
		return err
	}
	return node.Run(s.ctx)
}
