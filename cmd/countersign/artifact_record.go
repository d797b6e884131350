// countersign artifact record and attach: a tree's records, made without a server.

package main

import (
	"errors"

	"countersign/cmd/countersign/internal/term"
	"countersign/contracts/artifact"
	"countersign/contracts/lineage"
	"countersign/store/sdd"
)

// localTree is the tree that a command works on.
type localTree struct {
	Workdir        string `type:"path" default:"." placeholder:"DIR" help:"The directory that has the .sdd directory, or will have it."`
	OperatorSecret string `env:"COUNTERSIGN_OPERATOR_SECRET,BERNSTEIN_OPERATOR_SECRET" placeholder:"SECRET" help:"Seals the log; none for no seal. Better given by the environment."`
}

func (t localTree) options() sdd.Options {
	return sdd.Options{Workdir: t.Workdir, Secret: []byte(t.OperatorSecret)}
}

type artifactRecord struct {
	localTree
	anchorReceipts
	Task string `arg:"" help:"The task's id."`
	Spec string `required:"" placeholder:"FILE" help:"The declaration, the block itself, JSON or YAML; - for standard input. Its output_path is below the workdir."`
}

// Help is shown by --help.
func (artifactRecord) Help() string {
	return `It loads the declared output, judges every criterion, and when all pass records the artifact in the .sdd directory:
canonical bytes, a signed entry of the log, and the receipt. It prints ok, the receipt and each criterion's result as
JSON. Exit status: 0, and 2 when a criterion fails or something is refused; then nothing is recorded.

The first recording makes the signing key, .sdd/artifacts/identity/artifact_lineage.pem.

Examples:

  countersign artifact record RPT-1 --spec spec.yaml
  countersign artifact verify RPT-1`
}

type recordedArtifact struct {
	OK      bool              `json:"ok"`
	Receipt *lineage.Receipt  `json:"receipt,omitempty"`
	Results []artifact.Result `json:"results"`
}

// Run records.
func (c *artifactRecord) Run(s *session) error {
	data, err := s.readInput(c.Spec)
	if err != nil {
		return err
	}
	spec, err := artifact.ParseSpec(data)
	if err != nil {
		return about(c.Spec, err)
	}
	options := c.options()
	if options.Receipts, err = c.resolver(s); err != nil {
		return err
	}
	done, err := sdd.Record(s.ctx, options, c.Task, spec)
	s.notes(done.Notes)
	switch {
	case errors.Is(err, sdd.ErrCriteria) && len(done.Results) > 0:
		if printed := s.out.JSON(recordedArtifact{Results: done.Results}); printed != nil {
			return printed
		}
		return &statusError{exitRefused, err}
	case err != nil:
		return err
	}
	receipt := lineage.NewReceipt(done.Entry)
	return s.out.JSON(recordedArtifact{true, &receipt, done.Results})
}

// notes says what was noticed on the way, beside the result.
func (s *session) notes(notes []string) {
	for _, note := range notes {
		s.errs.Println("countersign: " + term.Safe(note))
	}
}

type artifactAttach struct {
	localTree
	File string `arg:"" help:"The file, recorded as it is; - for standard input."`
}

// Help is shown by --help.
func (artifactAttach) Help() string {
	return `It prints content_hash, which a figure's anchor of kind attachment refers to, and entry_hash, as JSON. Key and secret
are those of artifact record. Exit status: 0 and 2.`
}

// Run attaches.
func (c *artifactAttach) Run(s *session) error {
	in, err := s.openInput(c.File)
	if err != nil {
		return err
	}
	defer in.Close()
	done, err := sdd.Attach(s.ctx, c.options(), in)
	s.notes(done.Notes)
	if err != nil {
		return err
	}
	return s.out.JSON(struct {
		ContentHash string `json:"content_hash"`
		EntryHash   string `json:"entry_hash"`
	}{done.Entry.ContentHash, done.Entry.Hash()})
}
