// The grammar of the command line.

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"countersign/cmd/countersign/internal/term"

	"github.com/alecthomas/kong"
)

// grammar is every command and flag; kong reads it from the tags.
type grammar struct {
	Output string `short:"o" enum:"text,json" default:"text" placeholder:"FORMAT" help:"How to print: text for a person, json for a program (one document on standard output, nothing else)."`
	Server string `env:"COUNTERSIGN_URL" placeholder:"URL" help:"The server, like http://127.0.0.1:8080. Default: that of the nearest .countersign/dev.json upward from here."`
	Token  string `env:"COUNTERSIGN_TOKEN" placeholder:"TOKEN" help:"The operator's token; better given by the environment. Default: that of the same dev.json."`

	Dev  devCommand  `cmd:"" group:"start" help:"Run everything on this machine: PostgreSQL, Temporal, API and worker."`
	Demo demoCommand `cmd:"" group:"start" help:"Take one task from dispatch to receipt against the running dev server."`

	Task     taskCommands     `cmd:"" group:"work" help:"Add, read and cancel tasks."`
	Plan     planCommands     `cmd:"" group:"work" help:"Make tasks of a plan."`
	Backlog  backlogCommands  `cmd:"" group:"work" help:"Make tasks of a directory of Markdown files."`
	Dispatch dispatchCommand  `cmd:"" group:"work" help:"Freeze a spec into a revision and offer it to its node."`
	Workflow workflowCommands `cmd:"" group:"work" help:"Read, watch and control a task's revision."`
	Inbox    inboxCommand     `cmd:"" group:"work" help:"List what needs a person, each with its next action."`
	Ledger   ledgerCommands   `cmd:"" group:"work" help:"Verify a task's ledger."`
	Receipt  receiptCommands  `cmd:"" group:"work" help:"Take a receipt away and check it, with or without a server."`

	Completion completionCommands `cmd:"" group:"check" help:"Check a worker's payload."`
	Artifact   artifactCommands   `cmd:"" group:"check" help:"Hash and judge what a task produced."`
	Figures    figuresCommands    `cmd:"" group:"check" help:"Find and check the numbers of a report."`
	Capability capabilityCommands `cmd:"" group:"check" help:"Judge a worker dispatch by its capability contract."`

	Project     projectCommands `cmd:"" group:"setup" help:"Make and list projects."`
	Member      memberCommands  `cmd:"" group:"setup" help:"Give users a place in a project."`
	Node        nodeCommands    `cmd:"" group:"setup" help:"Enroll, pause and revoke nodes."`
	Agent       agentCommands   `cmd:"" group:"setup" help:"Make agents of the catalog and their versions."`
	Source      sourceCommands  `cmd:"" group:"setup" help:"Allow documents that agents may be made of."`
	AccessToken tokenCommands   `cmd:"" name:"token" group:"setup" help:"Make and revoke users' tokens."`

	API     apiCommand     `cmd:"" name:"api" group:"deploy" help:"Serve the HTTP API."`
	Worker  workerCommand  `cmd:"" group:"deploy" help:"Run workflows, activities, relay and sweeper."`
	Bridge  bridgeCommand  `cmd:"" group:"deploy" help:"Run a node: take executions and do them on this machine."`
	Migrate migrateCommand `cmd:"" group:"deploy" help:"Bring database and Temporal to this version."`
	Keys    keysCommands   `cmd:"" group:"deploy" help:"The keys that receipts are signed with."`
	Fsck    fsckCommand    `cmd:"" group:"deploy" help:"Check every invariant over the whole database."`
	Health  healthCommand  `cmd:"" group:"deploy" help:"Ask a running part whether it is healthy, for container health checks."`

	ShellCompletion shellCompletionCommand `cmd:"" group:"other" help:"Print a completion script for bash, zsh or fish."`
	Version         versionCommand         `cmd:"" group:"other" help:"Print the program's version."`
	Complete        completeCommand        `cmd:"" name:"__complete" hidden:"" passthrough:"" help:"Candidates for the shell."`
}

// session is what a command works with.
type session struct {
	ctx  context.Context
	in   io.Reader
	out  *term.Out
	errs *term.Out
	cli  *grammar
	kong *kong.Kong
}

// json reports whether the output is for a program.
func (s *session) json() bool { return s.cli.Output == "json" }

// print writes v as JSON for a program, or calls text for a person.
func (s *session) print(v any, text func() error) error {
	if s.json() {
		return s.out.JSON(v)
	}
	return text()
}

// newParser reads the grammar. exit is called after --help.
func newParser(cli *grammar, out, errs io.Writer, exit func(int)) (*kong.Kong, error) {
	return kong.New(cli,
		kong.Name("countersign"),
		kong.Description(description),
		kong.Writers(out, errs),
		kong.Exit(exit),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: false, FlagsLast: true, NoAppDescFormat: true, WrapUpperBound: 110}),
		kong.ExplicitGroups(groups),
	)
}

// execute runs one command line and returns its exit status.
func execute(ctx context.Context, args []string, in io.Reader, out, errs io.Writer) int {
	var cli grammar
	helped := false
	parser, err := newParser(&cli, out, errs, func(int) { helped = true })
	if err != nil {
		report(errs, fmt.Errorf("the program's own grammar: %w", err))
		return exitFailed
	}
	args = arrange(parser.Model, args)
	if len(args) == 0 {
		report(errs, errors.New("which command? (see `countersign --help`)"))
		return exitUsage
	}
	parsed, err := parser.Parse(args)
	if helped {
		return exitOK
	}
	if err != nil {
		report(errs, hint(err))
		return exitUsage
	}
	s := &session{ctx: ctx, in: in, out: term.New(out), errs: term.New(errs), cli: &cli, kong: parser}
	err = parsed.Run(s)
	if err != nil {
		report(errs, err)
	}
	return statusOf(ctx, err)
}

// hint adds where to look to an error of the command line.
func hint(err error) error {
	command := "countersign"
	if parse, ok := errors.AsType[*kong.ParseError](err); ok && parse.Context != nil {
		if selected := parse.Context.Selected(); selected != nil {
			command = selected.FullPath()
		}
	}
	text := strings.ReplaceAll(err.Error(), "\n", " ")
	return fmt.Errorf("%s (see `%s --help`)", text, command)
}
