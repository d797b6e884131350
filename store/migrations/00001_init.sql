-- +goose Up
-- The instance: one row, fixed by the first migrate whatever the port later is.
CREATE TABLE instance (
    only_row    boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    instance_id text NOT NULL,
    resource    text NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Setup -------------------------------------------------------------------------------------------
CREATE TABLE users (
    name       text PRIMARY KEY,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE projects (
    id         text PRIMARY KEY,
    name       text NOT NULL,
    repository text NOT NULL,
    created_by text NOT NULL REFERENCES users,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE members (
    project_id text NOT NULL REFERENCES projects,
    user_name  text NOT NULL REFERENCES users,
    role       text NOT NULL CHECK (role IN ('owner', 'admin', 'member', 'viewer')),
    status     text NOT NULL CHECK (status IN ('active', 'suspended')),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (project_id, user_name)
);

CREATE TABLE nodes (
    id                text PRIMARY KEY,
    name              text NOT NULL,
    anchor_project_id text NOT NULL REFERENCES projects,
    status            text NOT NULL CHECK (status IN ('active', 'paused', 'revoked')),
    note              text NOT NULL DEFAULT '',
    created_by        text NOT NULL REFERENCES users,
    created_at        timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at        timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE node_projects (
    node_id    text NOT NULL REFERENCES nodes,
    project_id text NOT NULL REFERENCES projects,
    PRIMARY KEY (node_id, project_id)
);

-- A provider login on a node. The same account may serve several runtimes.
CREATE TABLE node_accounts (
    node_id    text NOT NULL REFERENCES nodes,
    account_id text NOT NULL,
    runtime    text NOT NULL CHECK (runtime IN ('codex_cli', 'claude_code_cli')),
    PRIMARY KEY (node_id, account_id, runtime)
);

-- A token is a user's or a node's; the secret itself is never stored.
CREATE TABLE tokens (
    id            text PRIMARY KEY,
    secret_sha256 bytea NOT NULL CONSTRAINT tokens_secret UNIQUE,
    user_name     text REFERENCES users,
    node_id       text REFERENCES nodes,
    scopes        text[] NOT NULL,
    created_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at    timestamptz,
    revoked_at    timestamptz,
    CHECK ((user_name IS NULL) <> (node_id IS NULL))
);
CREATE INDEX tokens_by_node ON tokens (node_id) WHERE node_id IS NOT NULL;

-- Catalog -----------------------------------------------------------------------------------------
CREATE TABLE agents (
    id         text PRIMARY KEY,
    project_id text NOT NULL REFERENCES projects,
    name       text NOT NULL,
    created_by text NOT NULL REFERENCES users,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX agents_by_project ON agents (project_id, name, id);

-- Written once; only the status changes, under the agent's lock.
CREATE TABLE agent_versions (
    agent_id   text NOT NULL REFERENCES agents,
    ordinal    integer NOT NULL CHECK (ordinal >= 1),  -- the highest is the latest
    name       text NOT NULL,   -- the version as text
    version    text NOT NULL,   -- as its author wrote it, JSON
    status     text NOT NULL CHECK (status IN ('active', 'deprecated')),
    definition bytea NOT NULL,  -- canonical JSON of workflow.AgentDefinition
    created_by text NOT NULL REFERENCES users,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (agent_id, ordinal),
    CONSTRAINT agent_versions_name UNIQUE (agent_id, name)
);

-- Documents of the project's repository that agents may be made of.
CREATE TABLE sources (
    id         text PRIMARY KEY,
    project_id text NOT NULL REFERENCES projects,
    path       text NOT NULL,
    created_by text NOT NULL REFERENCES users,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    revoked_at timestamptz
);
CREATE UNIQUE INDEX sources_active ON sources (project_id, path) WHERE revoked_at IS NULL;

-- Tasks and revisions -----------------------------------------------------------------------------
CREATE TABLE tasks (
    id              text PRIMARY KEY,
    project_id      text NOT NULL REFERENCES projects,
    parent_task_id  text REFERENCES tasks,
    title           text NOT NULL,
    goal            text NOT NULL,
    repository      text NOT NULL,
    status          text NOT NULL CHECK (status IN ('open', 'done', 'failed', 'refused', 'cancelled')),
    terminal_reason text,
    refusal         bytea,  -- canonical JSON
    result_summary  bytea,  -- UTF-8 as sent; may hold U+0000, which text cannot
    version         integer NOT NULL DEFAULT 1 CHECK (version >= 1),
    labels          text[] NOT NULL DEFAULT '{}',
    artifact_spec   bytea,  -- canonical JSON
    derived_from    bytea,  -- of a follow-up: the item of the proposed split, as sent
    ledger_entries  integer NOT NULL DEFAULT 0,  -- what the ledger must hold, so that a removed
    ledger_head     text NOT NULL DEFAULT '',    -- last entry shows
    created_by      text NOT NULL REFERENCES users,
    created_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at      timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX tasks_by_project ON tasks (project_id, created_at DESC, id DESC);
CREATE INDEX tasks_waiting ON tasks (project_id) WHERE status IN ('refused', 'failed');
CREATE INDEX tasks_by_parent ON tasks (parent_task_id) WHERE parent_task_id IS NOT NULL;
CREATE INDEX tasks_by_project_status ON tasks (project_id, status, created_at DESC, id DESC);

-- Bodies that commands and rows name by digest: contracts, events, verdicts. Bytes as given, so that
-- key order, U+0000 and digests survive. One that no row names is swept after an hour.
CREATE TABLE payloads (
    sha256     text PRIMARY KEY CHECK (sha256 ~ '^[0-9a-f]{64}$'),
    body       bytea NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE revisions (
    workflow_id          text PRIMARY KEY,
    task_id              text NOT NULL REFERENCES tasks,
    project_id           text NOT NULL REFERENCES projects,
    number               integer NOT NULL CHECK (number >= 1),
    node_id              text NOT NULL REFERENCES nodes,
    contract             bytea NOT NULL,  -- canonical JSON, never changed
    contract_digest      text NOT NULL CHECK (contract_digest ~ '^[0-9a-f]{64}$'),
    worker_profile       text NOT NULL,   -- ids and versions of the frozen profiles, for lists that
    worker_version       text NOT NULL,   -- must not read the contract; a version is JSON text
    verifier_profile     text NOT NULL,
    verifier_version     text NOT NULL,
    worker_account       text NOT NULL,   -- '' for synthetic
    worker_runtime       text NOT NULL,
    verifier_account     text NOT NULL,
    verifier_runtime     text NOT NULL,
    max_work_attempts    integer NOT NULL CHECK (max_work_attempts IN (1, 2)),
    lease                bigint NOT NULL CHECK (lease > 0),     -- nanoseconds
    deadline             bigint NOT NULL CHECK (deadline > 0),  -- nanoseconds
    phase                text NOT NULL CHECK (phase IN ('offered', 'claimed', 'preparing', 'running',
                             'awaiting_verification', 'verifying', 'changes_requested', 'accepted', 'blocked', 'cancelled')),
    reason               text,
    candidate_commit     text,
    worker_execution_id  text,            -- the work attempt that made the candidate
    work_attempts        integer NOT NULL DEFAULT 0,
    refusal              bytea,           -- normalised, of the worker that could not go on
    feedback             bytea NOT NULL DEFAULT '[]',  -- of the last verdict, canonical JSON
    receipt_id           text,
    run_id               text,            -- of the Temporal run that last adopted the revision
    dispatched_by        text NOT NULL REFERENCES users,
    created_at           timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at           timestamptz NOT NULL DEFAULT clock_timestamp(),
    ended_at             timestamptz,
    closed_at            timestamptz,     -- when its Temporal workflow was seen closed
    checked_at           timestamptz NOT NULL DEFAULT clock_timestamp(),  -- when Temporal was last asked about it
    CONSTRAINT revisions_number UNIQUE (task_id, number),
    CHECK ((phase = 'blocked') = (reason IS NOT NULL)),
    CHECK (refusal IS NULL OR phase = 'blocked'),
    CHECK ((phase IN ('accepted', 'blocked', 'cancelled')) = (ended_at IS NOT NULL))
);
-- A new revision needs the one before blocked or cancelled.
CREATE UNIQUE INDEX revisions_one_active ON revisions (task_id) WHERE phase NOT IN ('blocked', 'cancelled');
CREATE INDEX revisions_active ON revisions (phase) WHERE phase NOT IN ('accepted', 'blocked', 'cancelled');
CREATE INDEX revisions_open ON revisions (checked_at) WHERE closed_at IS NULL;

CREATE TABLE idempotency (
    project_id     text NOT NULL REFERENCES projects,
    key            text NOT NULL,
    request_sha256 text NOT NULL,
    workflow_id    text,  -- set in the transaction that inserts the row
    created_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (project_id, key)
);

-- Executions --------------------------------------------------------------------------------------
-- Grows with every claim on the instance.
CREATE SEQUENCE fencing_tokens;

CREATE TABLE executions (
    id                  text PRIMARY KEY,
    kind                text NOT NULL CHECK (kind IN ('workflow', 'ordinary')),
    ordinal             integer NOT NULL,  -- place among the revision's attempts, from 1
    workflow_id         text REFERENCES revisions,
    task_id             text NOT NULL REFERENCES tasks,
    project_id          text NOT NULL REFERENCES projects,
    node_id             text NOT NULL REFERENCES nodes,
    purpose             text NOT NULL CHECK (purpose IN ('work', 'verify')),
    number              integer NOT NULL,  -- of its purpose, from 1
    state               text NOT NULL CHECK (state IN ('offered', 'live', 'ended')),
    phase               text NOT NULL CHECK (phase IN ('offered', 'claimed', 'preparing', 'running',
                            'completed', 'failed', 'interrupted', 'cancelled')),
    base_commit         text NOT NULL,
    session_id          text,
    provider_session_id text CONSTRAINT executions_session UNIQUE,
    claim_id            text,
    lease_id            text,
    fencing_token       bigint,
    activity_id         text,
    arming              integer NOT NULL DEFAULT 1,  -- how often an activity was armed for it
    offered_at          timestamptz NOT NULL DEFAULT clock_timestamp(),
    claimed_at          timestamptz,
    lease_expires_at    timestamptz,
    deadline_at         timestamptz,
    ended_at            timestamptz,
    result_commit       text,
    evidence_path       text,
    result_summary      bytea,   -- UTF-8 as sent, or the completion's summary
    completion          bytea,   -- normalised
    outcome             text,
    reason              text,
    last_event          integer NOT NULL DEFAULT 0,
    updates             integer NOT NULL DEFAULT 0,  -- sent to Temporal for it
    node_stopped_at     timestamptz,
    CHECK ((kind = 'workflow') = (workflow_id IS NOT NULL)),
    CHECK ((state = 'ended') = (ended_at IS NOT NULL)),
    CHECK ((state = 'offered') = (phase = 'offered')),
    CHECK (state <> 'live' OR (lease_id IS NOT NULL AND fencing_token IS NOT NULL
           AND lease_expires_at IS NOT NULL AND deadline_at IS NOT NULL AND claimed_at IS NOT NULL)),
    CHECK (lease_expires_at <= deadline_at)
);
-- A node's single slot, over all projects and kinds.
CREATE UNIQUE INDEX executions_node_slot ON executions (node_id) WHERE state IN ('offered', 'live');
CREATE UNIQUE INDEX executions_ordinal ON executions (workflow_id, ordinal);
CREATE INDEX executions_expiry ON executions (lease_expires_at) WHERE state = 'live';

CREATE TABLE events (
    execution_id text NOT NULL REFERENCES executions,
    sequence     integer NOT NULL CHECK (sequence BETWEEN 1 AND 64),
    body_sha256  text NOT NULL REFERENCES payloads,
    at           timestamptz NOT NULL,
    refusal      bytea,  -- JSON: the recorded refusal of a payload that violated its contract
    PRIMARY KEY (execution_id, sequence)
);

-- History -----------------------------------------------------------------------------------------
-- What readers page through, and the ledger that makes steps idempotent: the first row of a step
-- carries the hash of the command that made it and the step itself.
CREATE TABLE history (
    workflow_id text NOT NULL REFERENCES revisions,
    sequence    integer NOT NULL CHECK (sequence >= 1),
    at          timestamptz NOT NULL DEFAULT clock_timestamp(),
    kind        text NOT NULL,
    attempt_id  text,
    data        bytea NOT NULL DEFAULT '{}',  -- canonical JSON
    input_hash  text,
    step        bytea,                        -- JSON of workflow.Step
    PRIMARY KEY (workflow_id, sequence),
    CHECK ((input_hash IS NULL) OR (step IS NOT NULL) OR kind = 'pending')
);
CREATE UNIQUE INDEX history_command ON history (workflow_id, input_hash) WHERE input_hash IS NOT NULL;

CREATE INDEX events_by_body ON events (body_sha256);

-- Keys that receipts are signed with, each vouched for by the one before it. The secret half is in a
-- file of the workers.
CREATE TABLE keys (
    sequence   integer PRIMARY KEY CHECK (sequence >= 1),
    sha256     text NOT NULL UNIQUE CHECK (sha256 ~ '^[0-9a-f]{64}$'),  -- of the SubjectPublicKeyInfo
    public_pem text NOT NULL,
    not_before timestamptz NOT NULL,
    not_after  timestamptz,  -- when the next key took its place
    revoked_at timestamptz,
    reason     text,
    signed_by  text REFERENCES keys (sha256),
    signature  text,         -- base64: of the key before, and of this one, over the link between them
    proof      text,
    CHECK ((signed_by IS NULL) = (signature IS NULL) AND (signed_by IS NULL) = (proof IS NULL)),
    CHECK ((revoked_at IS NULL) = (reason IS NULL))
);
CREATE UNIQUE INDEX keys_one_in_use ON keys ((true)) WHERE not_after IS NULL AND revoked_at IS NULL;

-- Workers that can sign, as each says every few seconds.
CREATE TABLE signers (
    key_sha256 text NOT NULL REFERENCES keys (sha256),
    worker     text PRIMARY KEY,
    seen_at    timestamptz NOT NULL
);

CREATE TABLE receipts (
    receipt_id       text PRIMARY KEY,
    task_id          text NOT NULL REFERENCES tasks CONSTRAINT receipts_task UNIQUE,
    workflow_id      text NOT NULL REFERENCES revisions CONSTRAINT receipts_workflow UNIQUE,
    contract_digest  text NOT NULL,
    candidate_commit text NOT NULL,
    verdict_sha256   text NOT NULL REFERENCES payloads,
    accepted_at      timestamptz NOT NULL,
    key_sha256       text NOT NULL REFERENCES keys (sha256),
    envelope         bytea NOT NULL  -- as it was signed, never rebuilt
);

-- Ledger ------------------------------------------------------------------------------------------
-- Of each task: append-only, each entry holds the hash of the one before it.
CREATE TABLE ledger (
    task_id        text NOT NULL REFERENCES tasks,
    sequence       integer NOT NULL CHECK (sequence >= 1),
    body           bytea NOT NULL,  -- canonical JSON of workflow.LedgerEntry
    hash           text NOT NULL,   -- SHA-256 of the body
    request_sha256 text,            -- of the completion call that wrote it, for its replay
    refusal        bytea,           -- JSON: what that call was refused with
    PRIMARY KEY (task_id, sequence)
);
CREATE UNIQUE INDEX ledger_request ON ledger (task_id, request_sha256) WHERE request_sha256 IS NOT NULL;

-- Outbox ------------------------------------------------------------------------------------------
-- What PostgreSQL decided and Temporal, or the executions concerned, have yet to learn.
CREATE TABLE outbox (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind         text NOT NULL CHECK (kind IN ('start', 'catch_up', 'revocation')),
    workflow_id  text REFERENCES revisions,   -- start, catch_up
    node_id      text REFERENCES nodes,       -- revocation
    reason       text,                        -- revocation: the reason to block with
    created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    locked_until timestamptz NOT NULL DEFAULT clock_timestamp(),
    attempts     integer NOT NULL DEFAULT 0,
    sent_at      timestamptz,
    last_error   text
);
CREATE INDEX outbox_due ON outbox (locked_until) WHERE sent_at IS NULL;
CREATE INDEX outbox_start ON outbox (workflow_id) WHERE kind = 'start';

-- +goose Down
DROP TABLE outbox, ledger, receipts, signers, keys, history, events, executions, idempotency, revisions, payloads, tasks,
    sources, agent_versions, agents, tokens, node_accounts, node_projects, nodes, members, projects, users, instance;
DROP SEQUENCE fencing_tokens;
