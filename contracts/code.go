// The stable codes of refusals. A client switches on these; they never change their meaning.

package contracts

// Code is a stable snake_case word that says why something was refused.
type Code string

// Codes of HTTP answers; each has exactly one status, held in one table by package api.
const (
	CodeMalformedJSON       Code = "malformed_json"
	CodeUnauthenticated     Code = "unauthenticated"
	CodeForbidden           Code = "forbidden"
	CodeNotFound            Code = "not_found"
	CodeMethodNotAllowed    Code = "method_not_allowed"
	CodeTooLarge            Code = "too_large"
	CodeUnsupportedMedia    Code = "unsupported_media_type"
	CodeInvalid             Code = "invalid"
	CodeContractViolation   Code = "contract_violation"
	CodeRateLimited         Code = "rate_limited"
	CodeUnavailable         Code = "unavailable"
	CodeInternal            Code = "internal"
	CodeAlreadyExists       Code = "already_exists"
	CodeLastOwner           Code = "last_owner"
	CodeWriteContext        Code = "write_context_mismatch"
	CodeIdempotencyConflict Code = "idempotency_conflict"
	CodeVersionConflict     Code = "version_conflict"
	CodeTaskDone            Code = "task_done"
	CodeWorkflowActive      Code = "workflow_active"
	CodeWorkflowTerminal    Code = "workflow_terminal"
	CodeWorkflowSuperseded  Code = "workflow_superseded"
	CodeManagedByWorkflow   Code = "managed_by_workflow"
	CodeArtifactMode        Code = "artifact_mode_required"
	CodeArtifactRejected    Code = "artifact_rejected"
	CodeAlreadyTerminal     Code = "already_terminal"
	CodeNodeRevoked         Code = "node_revoked"
	CodeNodePaused          Code = "node_paused"
	CodeAccountNotAllowed   Code = "account_not_allowed"
	CodeNodeBusy            Code = "node_busy"
	CodeAlreadyClaimed      Code = "already_claimed"
	CodeFenced              Code = "fenced"
	CodeLeaseExpired        Code = "lease_expired"
	CodeDeadlineExceeded    Code = "deadline_exceeded"
	CodeLeaseActive         Code = "lease_active"
	CodeNothingToReconcile  Code = "nothing_to_reconcile"
	CodeExecutionTerminal   Code = "execution_terminal"
	CodeSequenceConflict    Code = "sequence_conflict"
	CodeSequenceGap         Code = "sequence_gap"
	CodeStateConflict       Code = "state_conflict"
	CodeSessionMismatch     Code = "session_mismatch"
	CodeSessionReused       Code = "session_reused"
	CodeFollowUpConflict    Code = "followup_conflict"
	CodeNotRunning          Code = "not_running"
	CodeAgentUnavailable    Code = "agent_unavailable"
	CodeSourceRefused       Code = "source_refused"
	// Of a dispatch that the worker dispatch capability contract binds.
	CodeDispatchRefused     Code = "worker_dispatch_refused"
	CodeDispatchNotEligible Code = "dispatch_not_eligible"
)
