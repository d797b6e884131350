// countersign figures: the numbers of a report, found and checked without a server.

package main

import (
	"errors"
	"unicode/utf8"

	"countersign/contracts"
	"countersign/contracts/canonjson"
	"countersign/contracts/figures"
)

type figuresCommands struct {
	Scan  figuresScan  `cmd:"" help:"List the numbers of a text and what each is taken for."`
	Key   figuresKey   `cmd:"" help:"Show the key by which a figure's value is found in a text."`
	Check figuresCheck `cmd:"" help:"Check that a report's figures are declared and resolve."`
}

type figuresScan struct {
	Policy string `placeholder:"FILE" help:"A policy, JSON: materiality_min, units, allowlist; each may be left out."`
	File   string `arg:"" help:"The text as it is; - for standard input."`
}

// Help is shown by --help.
func (figuresScan) Help() string {
	return `It prints a JSON list of surface, material, category, keys, line and col, [] for none. Exit status: 0 whatever it
finds, 2 for a text or policy that cannot be read.`
}

// Run scans.
func (c *figuresScan) Run(s *session) error {
	policy := figures.DefaultPolicy()
	if c.Policy != "" {
		data, err := s.readInput(c.Policy)
		if err != nil {
			return err
		}
		if policy, err = figures.ParsePolicy(data); err != nil {
			return about(c.Policy, err)
		}
	}
	tokenizer, err := figures.NewTokenizer(policy)
	if err != nil {
		return err
	}
	text, err := s.readInput(c.File)
	if err != nil {
		return err
	}
	if !utf8.Valid(text) {
		return &statusError{exitRefused, about(c.File, errors.New("the text is not valid UTF-8"))}
	}
	return s.out.JSON(tokenizer.Tokens(string(text)))
}

type figuresKey struct {
	Value string `arg:"" help:"The value as a figure declares it."`
}

// Run shows the key.
func (c *figuresKey) Run(s *session) error {
	key := figures.Key(c.Value)
	return s.print(key, func() error {
		s.out.Println(key)
		return nil
	})
}

type figuresCheck struct {
	Resolves string `required:"" placeholder:"FILE" help:"JSON object: each ref that resolves, with its statement."`
	Bundle   string `arg:"" help:"The report, JSON: body and figures; - for standard input."`
}

// Help is shown by --help.
func (figuresCheck) Help() string {
	return `It prints ok, the numbers that nothing declares, and what each figure's anchor came to. Exit status: 0 grounded, 2 not,
or for a file that cannot be read.`
}

// Run checks.
func (c *figuresCheck) Run(s *session) error {
	data, err := s.readInput(c.Resolves)
	if err != nil {
		return err
	}
	statements := map[string]string{}
	if err := canonjson.Decode(data, &statements); err != nil {
		return about(c.Resolves, err)
	}
	if data, err = s.readInput(c.Bundle); err != nil {
		return err
	}
	bundle, err := figures.ParseBundle(data)
	if err != nil {
		return about(c.Bundle, err)
	}
	tokenizer, err := figures.NewTokenizer(figures.DefaultPolicy())
	if err != nil {
		return err
	}
	verdict := tokenizer.Evaluate(bundle, figures.Statements(statements))
	err = s.out.JSON(struct {
		OK         bool                 `json:"ok"`
		Unanchored []figures.Unanchored `json:"unanchored"`
		Figures    []figures.Provenance `json:"figures"`
	}{verdict.OK, verdict.Unanchored, verdict.Provenances})
	if err == nil && !verdict.OK {
		err = &statusError{exitRefused, contracts.Refuse(contracts.CodeInvalid, "%s", verdict.Detail())}
	}
	return err
}
