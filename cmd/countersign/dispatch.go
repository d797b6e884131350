// countersign dispatch: a spec from a file becomes a frozen revision.

package main

import (
	"errors"
	"strings"

	"countersign/contracts"
)

type dispatchCommand struct {
	File string `arg:"" help:"JSON: a spec, or a whole request {spec, write_context}; - for standard input."`
}

// Help is shown by --help.
func (dispatchCommand) Help() string {
	return `The write context (which server, which project) is filled in when the file has none. Sending the same file
again gives the same revision: its idempotency_key is kept for ever.

A spec that a synthetic node can do:

  {
    "task_id": "...", "expected_task_version": 1, "bridge_id": "NODE", "idempotency_key": "try-1",
    "workspace": "/srv/repo", "base_commit": "<40 hex>", "branch": "work/try-1", "prompt": "...",
    "profile":  {"profile_id": "worker", "version": 1, "runtime": "synthetic", "instructions": "Do it.", "allow_workspace_writes": true},
    "verifier": {"profile_id": "verifier", "version": 1, "runtime": "synthetic", "instructions": "Judge it.", "allow_workspace_writes": false},
    "criteria": [{"id": "builds", "description": "It builds.", "method": "make"}]
  }

With profiles {"agent_id", "version", "account_id", "allow_workspace_writes", "sources": [{"ref", "source_id",
"commit_sha"}]} instead it is a dispatch by catalog. With a "worker_dispatch" the worker dispatch capability contract
binds every attempt, see docs/capability.md.

Examples:

  countersign dispatch spec.json
  jq '.prompt = "Try harder"' spec.json | countersign dispatch -`
}

// Run dispatches and shows the revision.
func (c *dispatchCommand) Run(s *session) error {
	data, err := s.readInput(c.File)
	if err != nil {
		return err
	}
	file, err := readDispatch(data)
	if err != nil {
		return about(c.File, err)
	}
	r, err := s.remote()
	if err != nil {
		return err
	}
	d, err := file.send(s.ctx, r)
	if err != nil {
		if err = inFile(err, file.bare); contracts.CodeOf(err) == contracts.CodeInvalid {
			err = about(c.File, err)
		}
		return err
	}
	return s.print(d, func() error {
		return s.out.Fields(
			"revision", d.WorkflowID, "task", d.TaskID, "phase", string(d.Phase), "contract", d.ContractDigest,
			"Temporal", d.Temporal.UIURL, "watch it", "countersign workflow get "+d.TaskID+" --watch",
		)
	})
}

// inFile turns a path into the request into one into the file that was given.
func inFile(err error, bare bool) error {
	refusal, ok := errors.AsType[*contracts.Error](err)
	if !ok || !bare {
		return err
	}
	at, inSpec := strings.CutPrefix(refusal.Path, "$.spec")
	if !inSpec {
		return err
	}
	own := *refusal
	own.Path = "$" + at
	return &own
}
