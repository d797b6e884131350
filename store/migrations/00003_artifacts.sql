-- +goose Up
-- Tasks that end in a signed artifact instead of a commit.
ALTER TABLE revisions
    ADD COLUMN artifact_kind  text NOT NULL DEFAULT '',  -- of the frozen task; '' for a commit
    ADD COLUMN candidate_hash text CHECK (candidate_hash ~ '^sha256:[0-9a-f]{64}$'),
    ADD CHECK (candidate_commit IS NULL OR candidate_hash IS NULL);
ALTER TABLE executions ADD COLUMN artifact_hash text;
ALTER TABLE receipts
    ALTER COLUMN candidate_commit DROP NOT NULL,
    ADD COLUMN candidate_hash text,
    ADD COLUMN entry_hash     text,
    ADD CHECK ((candidate_commit IS NULL) <> (candidate_hash IS NULL) AND (candidate_hash IS NULL) = (entry_hash IS NULL));

-- Bytes by content hash, in parts, so that nobody has to hold a whole artifact in memory. One that no
-- row names is swept after an hour.
CREATE TABLE blobs (
    content_hash text PRIMARY KEY CHECK (content_hash ~ '^sha256:[0-9a-f]{64}$'),
    bytes        bigint NOT NULL CHECK (bytes >= 0),
    created_at   timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE TABLE blob_parts (
    content_hash text NOT NULL REFERENCES blobs ON DELETE CASCADE,
    part         integer NOT NULL CHECK (part >= 0),
    body         bytea NOT NULL,
    PRIMARY KEY (content_hash, part)
);
ALTER TABLE blob_parts ALTER COLUMN body SET STORAGE EXTERNAL;

-- What a work attempt uploaded last, and how it was judged when it came.
CREATE TABLE uploads (
    execution_id text PRIMARY KEY REFERENCES executions,
    content_hash text REFERENCES blobs,  -- NULL when the bytes have no canonical form
    upload       bytea NOT NULL,         -- canonical JSON of workflow.Upload
    uploaded_at  timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX uploads_by_hash ON uploads (content_hash);

-- Lineage -----------------------------------------------------------------------------------------
-- One log a project, appended under its advisory lock: lines of docs/artifacts.md with their sidecars.
CREATE TABLE lineage (
    project_id    text NOT NULL REFERENCES projects,
    position      bigint NOT NULL CHECK (position >= 1),
    artefact_path text NOT NULL,
    content_hash  text NOT NULL REFERENCES blobs,
    entry_hash    text NOT NULL,
    attachment    boolean NOT NULL,
    line          bytea NOT NULL,  -- as a tree's log has it
    sidecar       text NOT NULL,   -- detached JWS
    recorded_by   text NOT NULL,   -- user, or execution
    recorded_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (project_id, position)
);
CREATE INDEX lineage_by_path ON lineage (project_id, artefact_path, position);
CREATE INDEX lineage_by_content ON lineage (project_id, content_hash, attachment);
CREATE INDEX lineage_blobs ON lineage (content_hash);
CREATE INDEX lineage_by_recorder ON lineage (recorded_by);

CREATE TABLE lineage_heads (
    project_id text PRIMARY KEY REFERENCES projects,
    entries    bigint NOT NULL,
    chain      text NOT NULL,
    head       bytea NOT NULL  -- as a tree has it
);

-- Every key that ever signed an entry, in the order of first use.
CREATE TABLE lineage_keys (
    public_key bytea PRIMARY KEY CHECK (length(public_key) = 32),
    sequence   integer GENERATED ALWAYS AS IDENTITY,
    since      timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Whether the worker can also sign lineage entries.
ALTER TABLE signers ADD COLUMN lineage boolean NOT NULL DEFAULT false;

-- +goose Down
ALTER TABLE signers DROP COLUMN lineage;
DROP TABLE lineage_keys, lineage_heads, lineage;
DROP TABLE uploads, blob_parts, blobs;
ALTER TABLE receipts DROP COLUMN candidate_hash, DROP COLUMN entry_hash, ALTER COLUMN candidate_commit SET NOT NULL;
ALTER TABLE executions DROP COLUMN artifact_hash;
ALTER TABLE revisions DROP COLUMN artifact_kind, DROP COLUMN candidate_hash;
