// The catalog's agents and their versions.

package store

import (
	"context"
	"errors"
	"fmt"

	"countersign/contracts/canonjson"
	"countersign/contracts/workflow"

	"github.com/go-json-experiment/json"
	"github.com/jackc/pgx/v5"
)

// CreateAgent makes an agent without versions. The user must be owner or admin of its project.
func (s *Store) CreateAgent(ctx context.Context, user string, req workflow.CreateAgent) (workflow.Agent, error) {
	a := workflow.Agent{ID: newID(), ProjectID: req.ProjectID, Name: req.Name, Versions: []workflow.AgentVersion{}}
	err := s.tx(ctx, func(tx pgx.Tx) error {
		if err := lockProjectRole(ctx, tx, user, req.ProjectID, admins...); err != nil {
			return err
		}
		if err := checkWriteContext(ctx, tx, req.WriteContext, &req.ProjectID); err != nil {
			return err
		}
		return tx.QueryRow(ctx, `INSERT INTO agents (id, project_id, name, created_by) VALUES ($1, $2, $3, $4) RETURNING created_at`,
			a.ID, a.ProjectID, a.Name, user).Scan(&a.CreatedAt)
	})
	return a, err
}

// AddAgentVersion adds a version, which becomes the latest and is active. A name that the agent has
// already is already_exists.
func (s *Store) AddAgentVersion(ctx context.Context, user, agentID string, req workflow.AddAgentVersion) (workflow.AgentVersion, error) {
	v := workflow.AgentVersion{Version: req.Version, Status: workflow.AgentActive, AgentDefinition: req.AgentDefinition}
	definition, err := canonjson.Marshal(req.AgentDefinition)
	if err != nil {
		return v, fmt.Errorf("store the definition: %w", err)
	}
	err = s.tx(ctx, func(tx pgx.Tx) error {
		if err := lockAgent(ctx, tx, user, agentID, req.WriteContext); err != nil {
			return err
		}
		return tx.QueryRow(ctx, `INSERT INTO agent_versions (agent_id, ordinal, name, version, status, definition, created_by)
			SELECT $1, coalesce(max(ordinal), 0) + 1, $2, $3, 'active', $4, $5 FROM agent_versions WHERE agent_id = $1
			RETURNING created_at, updated_at`, agentID, req.Version.Text(), req.Version.String(), definition, user).Scan(&v.CreatedAt, &v.UpdatedAt)
	})
	return v, err
}

// PatchAgentVersion makes a version active or deprecated.
func (s *Store) PatchAgentVersion(ctx context.Context, user, agentID, name string, req workflow.PatchAgentVersion) (workflow.AgentVersion, error) {
	var v workflow.AgentVersion
	err := s.tx(ctx, func(tx pgx.Tx) error {
		if err := lockAgent(ctx, tx, user, agentID, req.WriteContext); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `UPDATE agent_versions SET updated_at = CASE WHEN status = $3 THEN updated_at ELSE clock_timestamp() END, status = $3
			WHERE agent_id = $1 AND name = $2 RETURNING `+versionColumns, agentID, name, req.Status)
		if err != nil {
			return err
		}
		v, err = pgx.CollectExactlyOneRow(rows, scanVersion)
		if errors.Is(err, pgx.ErrNoRows) {
			return notFound("agent version")
		}
		return err
	})
	return v, err
}

// lockAgent locks an agent for a change by an owner or admin of its project.
func lockAgent(ctx context.Context, tx pgx.Tx, user, agentID string, wc *workflow.WriteContext) error {
	var projectID string
	err := tx.QueryRow(ctx, `SELECT project_id FROM agents WHERE id = $1`, agentID).Scan(&projectID)
	if errors.Is(err, pgx.ErrNoRows) {
		return notFound("agent")
	}
	if err != nil {
		return err
	}
	if err := lockProjectRole(ctx, tx, user, projectID, admins...); err != nil {
		return hiddenAs(err, "agent")
	}
	if err := checkWriteContext(ctx, tx, wc, &projectID); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `SELECT FROM agents WHERE id = $1 FOR NO KEY UPDATE`, agentID)
	return err
}

const versionColumns = `version, status, definition, created_at, updated_at`

func scanVersion(row pgx.CollectableRow) (workflow.AgentVersion, error) {
	var (
		v          workflow.AgentVersion
		version    string
		definition []byte
	)
	if err := row.Scan(&version, &v.Status, &definition, &v.CreatedAt, &v.UpdatedAt); err != nil {
		return v, err
	}
	v.Version = workflow.ParseVersion(version)
	if err := json.Unmarshal(definition, &v.AgentDefinition); err != nil {
		return v, fmt.Errorf("read the definition: %w", err)
	}
	return v, nil
}

const selectAgents = `SELECT a.id, a.project_id, a.name, a.created_at,
		coalesce((SELECT v.status = 'active' FROM agent_versions v WHERE v.agent_id = a.id ORDER BY v.ordinal DESC LIMIT 1), false)
	FROM agents a JOIN members m ON m.project_id = a.project_id AND m.user_name = $1 AND m.status = 'active'`

func scanAgent(row pgx.CollectableRow) (workflow.Agent, error) {
	a := workflow.Agent{Versions: []workflow.AgentVersion{}}
	return a, row.Scan(&a.ID, &a.ProjectID, &a.Name, &a.CreatedAt, &a.Available)
}

// Agents are a project's, with their versions. The user must be a member.
func (s *Store) Agents(ctx context.Context, user, projectID string) (workflow.AgentList, error) {
	if err := projectRole(ctx, s.pool, user, projectID, "project"); err != nil {
		return workflow.AgentList{}, translate(err)
	}
	agents, err := s.readAgents(ctx, selectAgents+` WHERE a.project_id = $2 ORDER BY a.name, a.id`, user, projectID)
	return workflow.AgentList{Agents: agents}, err
}

// Agent is one agent of a project the user is a member of.
func (s *Store) Agent(ctx context.Context, user, agentID string) (workflow.Agent, error) {
	agents, err := s.readAgents(ctx, selectAgents+` WHERE a.id = $2`, user, agentID)
	switch {
	case err != nil:
		return workflow.Agent{}, err
	case len(agents) == 0:
		return workflow.Agent{}, notFound("agent")
	}
	return agents[0], nil
}

func (s *Store) readAgents(ctx context.Context, query, user, of string) ([]workflow.Agent, error) {
	rows, err := s.pool.Query(ctx, query, user, of)
	if err != nil {
		return nil, translate(err)
	}
	agents, err := pgx.CollectRows(rows, scanAgent)
	if err != nil {
		return nil, translate(err)
	}
	place, ids := map[string]int{}, make([]string, len(agents))
	for i, a := range agents {
		place[a.ID], ids[i] = i, a.ID
	}
	rows, err = s.pool.Query(ctx, `SELECT `+versionColumns+`, agent_id FROM agent_versions WHERE agent_id = ANY ($1) ORDER BY agent_id, ordinal`, ids)
	if err != nil {
		return nil, translate(err)
	}
	_, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (struct{}, error) {
		var of string
		v, err := scanVersion(withLast{row, &of})
		if err == nil {
			a := &agents[place[of]]
			a.Versions = append(a.Versions, v)
		}
		return struct{}{}, err
	})
	if err != nil {
		return nil, translate(err)
	}
	return agents, nil
}

// withLast scans one more column than its user knows of.
type withLast struct {
	pgx.CollectableRow
	last any
}

func (r withLast) Scan(dest ...any) error { return r.CollectableRow.Scan(append(dest, r.last)...) }
