// The configuration of the deployable parts: flags, each with its COUNTERSIGN_ environment variable.

// Package deploy runs the server's parts in a process: configuration, connections, listeners and their
// orderly end. `countersign dev` runs the same parts by it as a deployment does.
package deploy

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"countersign/api"
	"countersign/api/documents"
)

// Database says where PostgreSQL is.
type Database struct {
	DatabaseURL      string `required:"" env:"COUNTERSIGN_DATABASE_URL" placeholder:"URL" help:"PostgreSQL, postgres://user:password@host/database; better given by the environment."`
	DatabaseMaxConns int32  `default:"0" env:"COUNTERSIGN_DATABASE_MAX_CONNS" placeholder:"N" help:"Connections of this process; 0 for the driver's choice."`
}

// Validate refuses what the driver would take for "the server on this machine".
func (d *Database) Validate() error {
	if d.DatabaseURL == "" {
		return errors.New("--database-url (COUNTERSIGN_DATABASE_URL) is not given")
	}
	return nil
}

// Temporal says where Temporal is and who we are there.
type Temporal struct {
	TemporalAddress   string `default:"127.0.0.1:7233" env:"COUNTERSIGN_TEMPORAL_ADDRESS" placeholder:"HOST:PORT" help:"Temporal's frontend (${default})."`
	TemporalNamespace string `default:"default" env:"COUNTERSIGN_TEMPORAL_NAMESPACE" placeholder:"NAME" help:"Temporal's namespace (${default})."`
	TemporalTLS       bool   `name:"temporal-tls" env:"COUNTERSIGN_TEMPORAL_TLS" help:"Speak TLS to Temporal; implied by the files and the key below."`
	TemporalCA        string `name:"temporal-ca" env:"COUNTERSIGN_TEMPORAL_CA" placeholder:"FILE" help:"PEM certificates that Temporal's is checked against, instead of the system's."`
	TemporalCert      string `env:"COUNTERSIGN_TEMPORAL_CERT" placeholder:"FILE" help:"This client's certificate, PEM."`
	TemporalKey       string `env:"COUNTERSIGN_TEMPORAL_KEY" placeholder:"FILE" help:"Its key, PEM."`
	TemporalAPIKey    string `name:"temporal-api-key" env:"COUNTERSIGN_TEMPORAL_API_KEY" placeholder:"KEY" help:"An API key; better given by the environment."`
}

// Validate checks what belongs together.
func (t *Temporal) Validate() error {
	if (t.TemporalCert == "") != (t.TemporalKey == "") {
		return errors.New("--temporal-cert and --temporal-key belong together")
	}
	return nil
}

// Log says what is logged, and how.
type Log struct {
	LogLevel  string `default:"info" enum:"debug,info,warn,error" env:"COUNTERSIGN_LOG_LEVEL" placeholder:"LEVEL" help:"debug, info, warn or error (${default})."`
	LogFormat string `default:"auto" enum:"auto,text,json" env:"COUNTERSIGN_LOG_FORMAT" placeholder:"FORMAT" help:"text, json, or auto: text on a terminal, else json (${default})."`
}

// minLease keeps a lease longer than the round trip of its renewal.
const minLease = time.Second

// Durations are how long an attempt may go without a sign of life, and in all.
type Durations struct {
	Lease    time.Duration `default:"90s" env:"COUNTERSIGN_LEASE" help:"How long a claim lives without renewal; can be shortened for tests, never lengthened (${default})."`
	Deadline time.Duration `default:"15m" env:"COUNTERSIGN_DEADLINE" help:"How long an attempt may take in all; can be shortened, never lengthened (${default})."`
}

// Validate keeps both within what the contract of the system promises.
func (d *Durations) Validate() error {
	if d.Lease < minLease || d.Lease > api.MaxLease {
		return fmt.Errorf("--lease must be between %s and %s", minLease, api.MaxLease)
	}
	if d.Deadline < d.Lease || d.Deadline > api.MaxDeadline {
		return fmt.Errorf("--deadline must be between the lease (%s) and %s", d.Lease, api.MaxDeadline)
	}
	return nil
}

// Mirrors says where the repositories are whose documents agents are made of.
type Mirrors struct {
	Mirror map[string]string `env:"COUNTERSIGN_MIRRORS" mapsep:";" placeholder:"REPOSITORY=DIR" help:"A directory that mirrors a project's repository, for dispatch by catalog; may be repeated, in the environment separated by ;."`
}

// Open makes a relative directory absolute and looks for the git program when there is any mirror.
func (m *Mirrors) Open() (*documents.Mirrors, error) {
	paths := make(map[string]string, len(m.Mirror))
	for repository, dir := range m.Mirror {
		path, err := filepath.Abs(dir)
		if err != nil {
			return nil, fmt.Errorf("--mirror %s=%s: %w", repository, dir, err)
		}
		paths[repository] = path
	}
	return documents.Open(paths)
}
