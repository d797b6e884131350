// The closed vocabularies of results as lists, for the schemas that clients discover.

package capability

// Values are all five actions.
func (Action) Values() []Action {
	return []Action{ActionAttempt, ActionFallback, ActionBlock, ActionWait, ActionSettle}
}

// Values are all statuses, from best to worst.
func (Status) Values() []Status {
	return []Status{StatusSucceeded, StatusDegraded, StatusFailed, StatusBlocked}
}

// Values are both states of a gate.
func (Gate) Values() []Gate { return []Gate{GateOpen, GateClosed} }

// Values are all fourteen codes.
func (ReasonCode) Values() []ReasonCode { return ReasonCodes() }
