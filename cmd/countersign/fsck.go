// countersign fsck: every invariant over the whole database.

package main

import (
	"errors"
	"fmt"

	"countersign/cmd/countersign/internal/devfile"
	"countersign/store"
)

type fsckCommand struct {
	DatabaseURL string `env:"COUNTERSIGN_DATABASE_URL" placeholder:"URL" help:"PostgreSQL. Default: the dev server's database."`
}

// Help is shown by --help.
func (fsckCommand) Help() string {
	return `It reads in one snapshot and writes nothing, so it may run beside a working system; after a restore it tells whether
the copy is sound. Exit status: 0 sound, 2 with findings, 1 when the database cannot be read.`
}

type fsckResult struct {
	Sound    bool            `json:"sound"`
	Findings []store.Finding `json:"findings"`
}

// Run checks.
func (c *fsckCommand) Run(s *session) error {
	url := c.DatabaseURL
	if url == "" {
		dev, _, err := devfile.Find(".")
		if errors.Is(err, devfile.ErrNone) {
			return usageError{fmt.Errorf("which database? give --database-url or COUNTERSIGN_DATABASE_URL; %w", err)}
		}
		if err != nil {
			return err
		}
		url = dev.DatabaseURL
	}
	st, err := store.Open(s.ctx, store.Options{URL: url, MaxConns: 1})
	if err != nil {
		return err
	}
	defer st.Close()
	// A person who gave a wrong URL has no call to repeat, so the driver's own words are better here.
	if err := st.Ping(s.ctx); err != nil {
		return fmt.Errorf("the database cannot be read: %w", err)
	}
	if err := st.Migrated(s.ctx); err != nil {
		return err
	}
	findings, err := st.Fsck(s.ctx)
	if err != nil {
		return err
	}
	err = s.print(fsckResult{len(findings) == 0, findings}, func() error {
		if len(findings) == 0 {
			s.out.Println("sound")
			return nil
		}
		rows := make([][]string, 0, len(findings))
		for _, f := range findings {
			rows = append(rows, []string{f.Rule, f.Where, f.Detail})
		}
		return s.out.Table([]string{"RULE", "WHERE", "DETAIL"}, rows)
	})
	if err == nil && len(findings) > 0 {
		err = &statusError{exitRefused, fmt.Errorf("%d findings", len(findings))}
	}
	return err
}
