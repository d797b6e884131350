// countersign artifact verify: one task's artifact, checked offline.

package main

import (
	"cmp"
	"fmt"

	"countersign/cmd/countersign/internal/term"
	"countersign/contracts/figures"
	"countersign/contracts/lineage"
	"countersign/store/sdd"
)

type artifactVerify struct {
	localTree
	anchorReceipts
	Task       string `arg:"" help:"The task's id."`
	OutputJSON bool   `name:"output-json" help:"The same as --output json."`
}

// Help is shown by --help.
func (artifactVerify) Help() string {
	return `It checks the task's bytes and receipt against the signed entry, every line of the log with its signature, chain and
parents, and the figures of a report, always strictly. Without the operator's secret its HMAC is not checked, which is
said. Nothing is written. Trees of format v 1 are read too.

Exit status: 0 verified; 2 tampered, missing or unverifiable.`
}

// Run verifies.
func (c *artifactVerify) Run(s *session) error {
	receipts, err := c.resolver(s)
	if err != nil {
		return err
	}
	result, err := sdd.Verify(s.ctx, c.Workdir, c.Task, lineage.Options{Secret: []byte(c.OperatorSecret), Receipts: receipts})
	if err != nil {
		return err
	}
	if c.OutputJSON {
		s.cli.Output = "json"
	}
	err = s.print(result, func() error { s.verified(result); return nil })
	if err == nil && !result.OK {
		err = &statusError{exitRefused, fmt.Errorf("task %q is not verified: %s", c.Task, result.Failures[0])}
	}
	return err
}

// verified prints a result for a person.
func (s *session) verified(r lineage.Result) {
	verdict := s.out.Paint(term.Green, "VERIFIED")
	if !r.OK {
		verdict = s.out.Paint(term.Red, "FAILED")
	}
	s.out.Printf("%s task=%s\n", verdict, term.Safe(r.TaskID))
	s.out.Printf("  content_hash  %s\n  entry_hash    %s\n", cmp.Or(r.ContentHash, "none"), cmp.Or(r.EntryHash, "none"))
	for _, failure := range r.Failures {
		s.out.Printf("  %s %s\n", s.out.Paint(term.Red, "FAIL"), term.Safe(failure))
	}
	for _, note := range r.Notes {
		s.out.Printf("  %s %s\n", s.out.Paint(term.Yellow, "NOTE"), term.Safe(note))
	}
	if r.Figures != nil {
		s.figures(*r.Figures)
	}
}

// figures prints where each figure comes from, and the numbers that come from nowhere.
func (s *session) figures(v figures.Verdict) {
	s.out.Printf("  figures:\n")
	for _, p := range v.Provenances {
		verdict := s.out.Paint(term.Green, "OK")
		if !p.OK {
			verdict = s.out.Paint(term.Red, "FAIL")
		}
		s.out.Printf("    %s %s (%s) - %s\n", verdict, term.Safe(cmp.Or(p.Label, p.Value)), term.Safe(p.Value), term.Safe(p.Statement))
	}
	for _, u := range v.Unanchored {
		s.out.Printf("    %s %s (%s) at line %d, col %d\n", s.out.Paint(term.Red, "UNANCHORED"), term.Safe(u.Surface), u.Category, u.Line, u.Col)
	}
}
