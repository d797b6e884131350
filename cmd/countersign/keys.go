// countersign keys: list, rotate, revoke.

package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"countersign/cmd/countersign/internal/deploy"
	"countersign/cmd/countersign/internal/devfile"
	"countersign/cmd/countersign/internal/devstack"
	"countersign/cmd/countersign/internal/keyfile"
	"countersign/contracts/receipt"
	"countersign/store"
)

type keysCommands struct {
	List   keysList   `cmd:"" help:"List the server's keys, oldest first: what an auditor is told."`
	Rotate keysRotate `cmd:"" help:"Put a new key in the place of the one in use."`
	Revoke keysRevoke `cmd:"" help:"End a key: what it signs from now on is not believed."`
}

type keysList struct{}

// Run lists.
func (c *keysList) Run(s *session) error {
	r, err := s.remote()
	if err != nil {
		return err
	}
	set, err := r.Keys(s.ctx)
	if err != nil {
		return err
	}
	return s.print(set, func() error {
		rows := make([][]string, 0, len(set.Keys))
		for _, k := range set.Keys {
			rows = append(rows, []string{k.ID, keyState(k), stamp(k.NotBefore), k.SHA256})
		}
		return s.out.Table([]string{"ID", "STATE", "SINCE", "SHA256"}, rows)
	})
}

func keyState(k receipt.KeyRecord) string {
	switch {
	case k.RevokedAt != nil:
		return fmt.Sprintf("revoked (%s)", k.Reason)
	case k.NotAfter != nil:
		return "replaced"
	}
	return "in use"
}

// keysDatabase is the database that keys are changed in. The server need not run for that.
type keysDatabase struct {
	DatabaseURL string `env:"COUNTERSIGN_DATABASE_URL" placeholder:"URL" help:"PostgreSQL. Default: the dev server's database, and its key file."`
}

// open opens the database; dir is the development server's data directory when it is that one's.
func (d keysDatabase) open(s *session) (st *store.Store, dir string, err error) {
	url := d.DatabaseURL
	if url == "" {
		var dev devfile.File
		dev, dir, err = devfile.Find(".")
		if errors.Is(err, devfile.ErrNone) {
			return nil, "", usageError{fmt.Errorf("which database? give --database-url or COUNTERSIGN_DATABASE_URL; %w", err)}
		}
		if err != nil {
			return nil, "", err
		}
		url = dev.DatabaseURL
	}
	if st, err = store.Open(s.ctx, store.Options{URL: url, MaxConns: 1}); err != nil {
		return nil, "", err
	}
	if err := st.Migrated(s.ctx); err != nil {
		st.Close()
		return nil, "", err
	}
	return st, dir, nil
}

type keysRotate struct {
	keysDatabase
	deploy.Signing
	deploy.Algorithm
	NewChain bool `help:"When the key in use is lost or revoked: begin a new chain, whose first key nobody vouches for. Auditors have to be told its fingerprint."`
}

// Help is shown by --help.
func (keysRotate) Help() string {
	return `It runs where the key file is. The old key signs the new one, so that who trusts either can check receipts of both;
then the new file takes the old one's place. Copy it to the other workers: until they have it they cannot sign.
Workers read the file anew for each receipt and need no restart. One that was interrupted is finished by the next.

Examples:

  countersign keys rotate
  countersign keys rotate --database-url postgres://... --signing-key /etc/countersign/signing-key.pem`
}

// Run rotates.
func (c *keysRotate) Run(s *session) error {
	st, dir, err := c.open(s)
	if err != nil {
		return err
	}
	defer st.Close()
	path := c.SigningKey
	if dir != "" {
		path = filepath.Join(dir, devstack.SigningKey)
	}
	made, err := keyfile.Rotate(s.ctx, st, path, c.SigningAlgorithm, c.NewChain)
	if err != nil {
		return err
	}
	return s.printKey(made)
}

type keysRevoke struct {
	keysDatabase
	ID     string `arg:"" help:"The key's id or fingerprint, from keys list."`
	Reason string `required:"" placeholder:"TEXT" help:"Why; it is public."`
}

// Help is shown by --help.
func (keysRevoke) Help() string {
	return `A key that was stolen should be replaced first and revoked then (keys rotate, keys revoke), so that the chain holds.
When the key in use is revoked no work is taken until there is another (keys rotate --new-chain). What it signed before
stays proved as far as its date is believed.

Examples:

  countersign keys revoke 2c26b46b68ffc68f --reason "copied by mistake"`
}

// Run revokes.
func (c *keysRevoke) Run(s *session) error {
	reason := strings.TrimSpace(c.Reason)
	if reason == "" {
		return usageError{errors.New("--reason is empty")}
	}
	st, _, err := c.open(s)
	if err != nil {
		return err
	}
	defer st.Close()
	revoked, err := st.RevokeKey(s.ctx, c.ID, reason)
	if err != nil {
		return err
	}
	return s.printKey(revoked)
}

func (s *session) printKey(k receipt.KeyRecord) error {
	return s.print(k, func() error {
		by := k.SignedBy
		if by == "" {
			by = "nobody: it begins a chain, and auditors have to be told its fingerprint"
		}
		return s.out.Fields("key", k.ID, "sha256", k.SHA256, "state", keyState(k), "since", stamp(k.NotBefore), "vouched for by", by)
	})
}
