// The closed vocabularies as lists, for the schemas that clients discover. Reasons are not among them:
// there will be more, and a client has to live with one it does not know.

package workflow

// Values are all phases of a revision.
func (Phase) Values() []Phase {
	return []Phase{
		PhaseOffered, PhaseClaimed, PhasePreparing, PhaseRunning, PhaseAwaitingVerification, PhaseVerifying,
		PhaseChangesRequested, PhaseAccepted, PhaseBlocked, PhaseCancelled,
	}
}

// Values are all phases of an attempt.
func (AttemptPhase) Values() []AttemptPhase {
	return []AttemptPhase{
		AttemptOffered, AttemptClaimed, AttemptPreparing, AttemptRunning, AttemptCompleted, AttemptFailed,
		AttemptInterrupted, AttemptCancelled,
	}
}

// Values are both purposes.
func (Purpose) Values() []Purpose { return []Purpose{PurposeWork, PurposeVerify} }

// Values are all outcomes of an attempt.
func (Outcome) Values() []Outcome {
	return []Outcome{
		OutcomeResult, OutcomeVerdictPass, OutcomeVerdictFail, OutcomeRefused, OutcomeViolation, OutcomeFailed,
		OutcomeInterrupted, OutcomeCancelled,
	}
}

// Values are all kinds of history entries.
func (EntryKind) Values() []EntryKind {
	return []EntryKind{
		EntryDispatched, EntryOffered, EntryClaimed, EntryPreparing, EntryRunning, EntryCompleted, EntryVerdict,
		EntryChangesRequested, EntryAccepted, EntryFailed, EntryInterrupted, EntryRearmed, EntryBlocked, EntryCancelled,
	}
}

// Values are all statuses of a task.
func (TaskStatus) Values() []TaskStatus {
	return []TaskStatus{TaskOpen, TaskDone, TaskFailed, TaskRefused, TaskCancelled}
}

// Values are all statuses of a node.
func (NodeStatus) Values() []NodeStatus { return []NodeStatus{NodeActive, NodePaused, NodeRevoked} }

// Values are all roles, strongest first.
func (Role) Values() []Role { return []Role{RoleOwner, RoleAdmin, RoleMember, RoleViewer} }

// Values are all scopes, the nodes' one last.
func (Scope) Values() []Scope { return append(append([]Scope{}, UserScopes...), ScopeBridge) }

// Values are all runtimes.
func (Runtime) Values() []Runtime {
	return []Runtime{RuntimeSynthetic, RuntimeCodexCLI, RuntimeClaudeCode}
}

// Values are both statuses of an agent's version.
func (AgentStatus) Values() []AgentStatus { return []AgentStatus{AgentActive, AgentDeprecated} }

// Values are all kinds of an agent's documents.
func (DocumentKind) Values() []DocumentKind {
	return []DocumentKind{DocumentHeartbeat, DocumentInstructions, DocumentSoul, DocumentSkill}
}
