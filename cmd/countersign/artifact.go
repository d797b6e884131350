// countersign artifact: canonical form, declarations and criteria, without a server.

package main

import (
	"bytes"
	"io"
	"strings"

	"countersign/contracts"
	"countersign/contracts/artifact"
)

type artifactCommands struct {
	Hash   artifactHash   `cmd:"" help:"Hash a produced file by its kind's canonical form."`
	Check  artifactCheck  `cmd:"" help:"Judge a produced file by criteria."`
	Spec   artifactSpec   `cmd:"" help:"Read a declaration."`
	Record artifactRecord `cmd:"" help:"Complete a task on what it wrote, in the .sdd directory."`
	Attach artifactAttach `cmd:"" help:"Record a file that figures can be anchored to."`
	Verify artifactVerify `cmd:"" help:"Check a task's artifact, offline."`
	Export artifactExport `cmd:"" group:"work" help:"Write the server's records as a .sdd directory that verifies offline."`
}

type artifactHash struct {
	Kind      string `required:"" enum:"report,dataset,action_log,ops_result" placeholder:"KIND" help:"report, dataset, action_log or ops_result."`
	Canonical bool   `help:"Write the canonical bytes instead of their hash."`
	File      string `arg:"" help:"The produced file; - for standard input."`
}

// Help is shown by --help.
func (artifactHash) Help() string {
	return `It prints kind, content_hash and bytes, the size of the canonical form, as JSON. Exit status: 0, and 2 for a file that
has no canonical form; line and reason are said.`
}

// Run hashes. The file is streamed, so its size does not matter.
func (c *artifactHash) Run(s *session) error {
	in, err := s.openInput(c.File)
	if err != nil {
		return err
	}
	defer in.Close()
	var out io.Writer = io.Discard
	if c.Canonical {
		out = s.out
	}
	canonical, err := artifact.Canonicalise(artifact.Kind(c.Kind), in, out)
	if err != nil || c.Canonical {
		return about(c.File, err)
	}
	return s.out.JSON(struct {
		Kind        string `json:"kind"`
		ContentHash string `json:"content_hash"`
		Bytes       int64  `json:"bytes"`
	}{c.Kind, canonical.ContentHash, canonical.Bytes})
}

type artifactCheck struct {
	Kind          string   `required:"" enum:"report,dataset,action_log,ops_result" placeholder:"KIND" help:"report, dataset, action_log or ops_result."`
	Criterion     []string `sep:"none" placeholder:"TYPE:VALUE" help:"A criterion; may be repeated. Types: hash_stable, schema_valid, criteria_match, figures_grounded."`
	CriterionFile []string `sep:"none" placeholder:"TYPE:PATH" help:"A criterion whose value is in a file; may be repeated."`
	File          string   `arg:"" help:"The produced file; - for standard input."`
}

// Help is shown by --help.
func (artifactCheck) Help() string {
	return `It prints ok and each criterion's result as JSON. A criterion of an unknown type, or one that cannot be judged, fails;
figures_grounded fails here, for there are no records to trace to. Exit status: 0 when all pass, else 2.`
}

// Run judges.
func (c *artifactCheck) Run(s *session) error {
	criteria, err := c.criteria(s)
	if err != nil {
		return err
	}
	in, err := s.openInput(c.File)
	if err != nil {
		return err
	}
	defer in.Close()
	var canonical bytes.Buffer
	if _, err := artifact.Canonicalise(artifact.Kind(c.Kind), in, &canonical); err != nil {
		return about(c.File, err)
	}
	results, err := artifact.Evaluate(artifact.Kind(c.Kind), &canonical, criteria, nil)
	if err != nil {
		return err
	}
	ok := true
	for _, r := range results {
		ok = ok && r.Passed
	}
	err = s.out.JSON(struct {
		OK      bool              `json:"ok"`
		Results []artifact.Result `json:"results"`
	}{ok, results})
	if err == nil && !ok {
		err = &statusError{code: exitRefused}
	}
	return err
}

// criteria are those of both flags, the literal ones first.
func (c *artifactCheck) criteria(s *session) ([]artifact.Criterion, error) {
	var criteria []artifact.Criterion
	for _, flag := range c.Criterion {
		kind, value, _ := strings.Cut(flag, ":")
		criteria = append(criteria, artifact.Criterion{Type: artifact.CriterionType(kind), Value: value})
	}
	for _, flag := range c.CriterionFile {
		kind, path, _ := strings.Cut(flag, ":")
		value, err := s.readInput(path)
		if err != nil {
			return nil, err
		}
		criteria = append(criteria, artifact.Criterion{Type: artifact.CriterionType(kind), Value: string(value)})
	}
	return criteria, nil
}

type artifactSpec struct {
	File string `arg:"" help:"The declaration, the block itself, JSON or YAML; - for standard input."`
}

// Help is shown by --help.
func (artifactSpec) Help() string {
	return `It prints outcome ok with the parsed spec, or outcome refused with the field and the reason. Exit status: 0 and 2.`
}

// Run reads it.
func (c *artifactSpec) Run(s *session) error {
	data, err := s.readInput(c.File)
	if err != nil {
		return err
	}
	spec, err := artifact.ParseSpec(data)
	if err == nil {
		return s.out.JSON(struct {
			Outcome string        `json:"outcome"`
			Spec    artifact.Spec `json:"spec"`
		}{"ok", spec})
	}
	refusal, ok := err.(*contracts.Error)
	if !ok {
		return err
	}
	printed := s.out.JSON(struct {
		Outcome string `json:"outcome"`
		Field   string `json:"field"`
		Reason  string `json:"reason"`
	}{"refused", refusal.Path, refusal.Detail})
	if printed != nil {
		return printed
	}
	return &statusError{exitRefused, about(c.File, refusal)}
}
