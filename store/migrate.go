// Migrations, embedded, and the instance's identity.

package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"countersign/contracts/workflow"

	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib" // goose works through database/sql
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

//go:embed migrations/*.sql
var migrations embed.FS

func provider(db *sql.DB) (*goose.Provider, error) {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, fmt.Errorf("embedded migrations: %w", err)
	}
	// Several processes may migrate at once; one does, the others wait.
	locker, err := lock.NewPostgresSessionLocker()
	if err != nil {
		return nil, fmt.Errorf("migration lock: %w", err)
	}
	return goose.NewProvider(goose.DialectPostgres, db, files, goose.WithSessionLocker(locker))
}

// Migrate brings the database at url to the newest schema. resource is the instance's URI; the first
// migration fixes it for ever together with a new instance id, later calls leave both alone.
func Migrate(ctx context.Context, url, resource string) error {
	db, err := sql.Open("pgx", url)
	if err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	defer db.Close()
	p, err := provider(db)
	if err != nil {
		return err
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	_, err = db.ExecContext(ctx, `INSERT INTO instance (instance_id, resource) VALUES ($1, $2) ON CONFLICT DO NOTHING`, newID(), resource)
	if err != nil {
		return fmt.Errorf("fix the instance: %w", err)
	}
	return nil
}

// ErrNotMigrated says that the database has no schema or an older one than this program's.
var ErrNotMigrated = errors.New("the database is not migrated: run countersign migrate")

// Migrated returns nil when the schema is the one this program was built with, ErrNotMigrated when
// it is not, or why PostgreSQL could not be asked.
func (s *Store) Migrated(ctx context.Context) error {
	want, err := newestMigration()
	if err != nil {
		return err
	}
	var have int64
	err = s.pool.QueryRow(ctx, `SELECT coalesce(max(version_id), 0) FROM goose_db_version WHERE is_applied`).Scan(&have)
	if err != nil {
		if undefinedTable(err) {
			return ErrNotMigrated
		}
		return translate(err)
	}
	if have != want {
		return fmt.Errorf("%w (it has version %d, this program wants %d)", ErrNotMigrated, have, want)
	}
	return nil
}

func newestMigration() (int64, error) {
	files, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil || len(files) == 0 {
		return 0, fmt.Errorf("no embedded migrations: %w", err)
	}
	return goose.NumericComponent(files[len(files)-1])
}

// Instance is the server's identity, without its version.
func (s *Store) Instance(ctx context.Context) (workflow.Instance, error) {
	var i workflow.Instance
	err := s.pool.QueryRow(ctx, `SELECT instance_id, resource FROM instance`).Scan(&i.InstanceID, &i.Resource)
	if errors.Is(err, pgx.ErrNoRows) || undefinedTable(err) {
		return i, ErrNotMigrated
	}
	if err != nil {
		return i, translate(err)
	}
	return i, nil
}
