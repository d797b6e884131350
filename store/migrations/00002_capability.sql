-- Worker dispatches that the capability contract binds: what was decided on each, and on what.

-- +goose Up
ALTER TABLE revisions ADD COLUMN worker_dispatch boolean NOT NULL DEFAULT false;  -- the contract has one
ALTER TABLE executions ADD COLUMN dispatch text;  -- the last action, 'undecided' before the first; null for none

-- One row for each decision, written in the step that it was made in. Input and record are payloads:
-- the evaluator's input, and the decision with everything a reader may see of it.
CREATE TABLE dispatch_decisions (
    workflow_id       text NOT NULL REFERENCES revisions,
    sequence          integer NOT NULL CHECK (sequence >= 1),  -- of the step's first history entry
    ordinal           integer NOT NULL CHECK (ordinal >= 1),   -- within the step
    execution_id      text REFERENCES executions,              -- null for an offer that was not made
    stage             text NOT NULL CHECK (stage IN ('offer', 'preparing', 'settle')),
    action            text NOT NULL CHECK (action IN ('attempt_dispatch', 'fallback', 'block', 'wait', 'settle')),
    status            text CHECK (status IN ('succeeded', 'degraded', 'failed', 'blocked')),
    reason_codes      text[] NOT NULL,
    claims_denied     text[] NOT NULL,
    independence_gate text NOT NULL CHECK (independence_gate IN ('open', 'closed')),
    result_promotable boolean NOT NULL,
    input_sha256      text NOT NULL REFERENCES payloads,
    record_sha256     text NOT NULL REFERENCES payloads,
    PRIMARY KEY (workflow_id, sequence, ordinal),
    CHECK ((stage = 'offer') = (execution_id IS NULL)),
    CHECK (action IN ('attempt_dispatch', 'wait') = (status IS NULL)),
    CHECK (independence_gate = 'open' OR result_promotable)
);
-- What became of a call is decided once.
CREATE UNIQUE INDEX dispatch_decisions_settled ON dispatch_decisions (execution_id) WHERE stage = 'settle';
CREATE INDEX dispatch_decisions_by_input ON dispatch_decisions (input_sha256);
CREATE INDEX dispatch_decisions_by_record ON dispatch_decisions (record_sha256);

-- +goose StatementBegin
CREATE FUNCTION dispatch_decision_stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'a decision on a worker dispatch is never changed';
END
$$;
-- +goose StatementEnd
CREATE TRIGGER dispatch_decisions_stay BEFORE UPDATE OR DELETE ON dispatch_decisions
    FOR EACH ROW EXECUTE FUNCTION dispatch_decision_stays();

-- +goose Down
DROP TABLE dispatch_decisions;
DROP FUNCTION dispatch_decision_stays;
ALTER TABLE executions DROP COLUMN dispatch;
ALTER TABLE revisions DROP COLUMN worker_dispatch;
