// countersign migrate: the database and Temporal's namespace, made ready for this version.

package main

import (
	"errors"
	"fmt"

	"countersign/cmd/countersign/internal/deploy"
	"countersign/contracts"
	"countersign/contracts/workflow"
	"countersign/store"
)

type migrateCommand struct {
	deploy.Database  `group:"config"`
	deploy.Temporal  `group:"config"`
	deploy.Signing   `group:"config"`
	deploy.Algorithm `group:"config"`
	deploy.Lineage   `group:"config"`
	deploy.Log       `group:"config"`
	Resource         string `group:"config" default:"http://127.0.0.1:8080" env:"COUNTERSIGN_RESOURCE" placeholder:"URI" help:"What the instance calls itself; the first migration fixes it for ever (${default})."`
	Admin            string `placeholder:"USER" help:"Also make the instance's first token, for this user and with every scope; it is shown this once."`
	SkipKey          bool   `help:"Leave both keys alone: they are made elsewhere, and no worker runs here."`
	SkipTemporal     bool   `help:"Leave Temporal's search attributes alone: somebody else registers them."`
}

// Help is shown by --help.
func (migrateCommand) Help() string {
	return `Run it before the first start and before the parts of a new version start; several at once do no harm.
The first one also makes the key that receipts are signed with, in --signing-key; every worker needs a copy of that file,
and who loses it begins a new chain of keys (countersign keys rotate --new-chain). Likewise --lineage-key, which signs
the records of artifacts: every worker and every API needs a copy, and a lost one is replaced by a new one.

Examples:

  COUNTERSIGN_DATABASE_URL=postgres://... countersign migrate --resource https://countersign.example.com --admin ada`
}

type migrated struct {
	workflow.Instance
	// SigningKey is the fingerprint of the key in use.
	SigningKey string                 `json:"signing_key_sha256,omitzero"`
	Admin      *workflow.TokenCreated `json:"admin,omitzero"`
}

// Run migrates.
func (c *migrateCommand) Run(s *session) error {
	log := c.Logger(s.errs)
	if err := store.Migrate(s.ctx, c.DatabaseURL, c.Resource); err != nil {
		return err
	}
	if !c.SkipTemporal {
		if err := c.EnsureSearchAttributes(s.ctx, log); err != nil {
			return err
		}
	}
	st, err := store.Open(s.ctx, store.Options{URL: c.DatabaseURL, MaxConns: 2})
	if err != nil {
		return err
	}
	defer st.Close()
	var done migrated
	if done.Instance, err = st.Instance(s.ctx); err != nil {
		return err
	}
	done.Version = programVersion()
	if !c.SkipKey {
		if done.SigningKey, err = c.EnsureKey(s.ctx, st, c.Algorithm); err != nil {
			return fmt.Errorf("the database is migrated, but no worker can sign: %w", err)
		}
		if err := c.EnsureLineage(); err != nil {
			return fmt.Errorf("the database is migrated, but no artifact can be recorded: %w", err)
		}
	}
	if c.Admin != "" {
		token, err := st.BootstrapAdmin(s.ctx, c.Admin)
		if err != nil {
			return fmt.Errorf("the database is migrated, but no admin token was made: %w", atFlag(err))
		}
		done.Admin = &token
	}
	return s.print(done, func() error {
		if err := s.out.Fields("instance", done.InstanceID, "resource", done.Resource, "signing key", done.SigningKey); err != nil || done.Admin == nil {
			return err
		}
		return s.printToken(*done.Admin)
	})
}

// atFlag gives a refusal of the user's name the flag as its place.
func atFlag(err error) error {
	if refusal, ok := errors.AsType[*contracts.Error](err); ok && refusal.Path == "$.user" {
		return contracts.Invalid("--admin", "%s", refusal.Detail)
	}
	return err
}
