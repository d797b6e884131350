// What the evaluator is given: the request, the facts of the session, the answers and the observation.

package capability

// Input is everything an evaluation may look at. Every value of the wrong type reads as absent (see
// Decode), every absent one as no evidence. Times are RFC 3339 strings.
type Input struct {
	// Now is the evaluator's only clock.
	Now     string  `json:"now"`
	Request Request `json:"request"`
	// Discovery is nil when nobody looked.
	Discovery       *Discovery      `json:"discovery"`
	CapabilityFacts CapabilityFacts `json:"capability_facts"`
	Packet          Packet          `json:"packet"`
	// ScopeReceipts holds the scope receipts by their ref, fetched outside. A ref that is not here
	// cannot be resolved.
	ScopeReceipts  map[string]ScopeReceipt `json:"scope_receipts"`
	DispatchPolicy DispatchPolicy          `json:"dispatch_policy"`
	// FallbackMode is how the caller works when it does not dispatch: inline or serial.
	FallbackMode Mode `json:"fallback_mode"`
	// Live is nil before the call.
	Live *Live `json:"live"`
	// Observation is nil when the caller compared nothing.
	Observation *Observation `json:"observation"`
	// ClaimsRequested are the words somebody wants to say about the result.
	ClaimsRequested []Claim `json:"claims_requested"`

	// misfits are the paths of values that Decode found to be of the wrong type.
	misfits []string
}

// Request is the seed's worker_dispatch_request. Output contract, stop condition, intents and input
// refs are the caller's; the evaluator carries them and does not judge them.
type Request struct {
	WorkerDispatchAuthorization        Authorization `json:"worker_dispatch_authorization"`
	ProviderTrustDomain                TrustDomain   `json:"provider_trust_domain"`
	RestrictedReadAuthorization        Authorization `json:"restricted_read_authorization"`
	DataEgressAuthorization            Authorization `json:"data_egress_authorization"`
	CredentialUseAuthorization         Authorization `json:"credential_use_authorization"`
	ExternalCommunicationAuthorization Authorization `json:"external_communication_authorization"`
	IntentLabels                       []string      `json:"intent_labels"`
	DesiredConcurrency                 Parallelism   `json:"desired_concurrency"`
	ContextIsolationNeed               IsolationNeed `json:"context_isolation_need"`
	ModelSelectionNeed                 ModelNeed     `json:"model_selection_need"`
	MutationScope                      MutationScope `json:"mutation_scope"`
	// MutationAuthorizationRef is null unless the scope is explicit; an empty string is not null.
	MutationAuthorizationRef *string  `json:"mutation_authorization_ref"`
	AllowedMutationSurfaces  []string `json:"allowed_mutation_surfaces"`
	InputRefs                []string `json:"input_refs"`
	OutputContract           string   `json:"output_contract"`
	StopCondition            string   `json:"stop_condition"`
}

// Discovery is what the caller saw of the current session's registry. Nil candidates (absent) prove
// nothing; an empty list is a statement that there are none.
type Discovery struct {
	Surface            SurfaceState `json:"surface"`
	CaptureMethod      string       `json:"capture_method"`
	SchemaCompleteness string       `json:"schema_completeness"`
	CompletenessBasis  *string      `json:"completeness_basis"`
	Candidates         []Candidate  `json:"candidates,omitzero"`
	Selection          *Selection   `json:"selection"`
}

// Candidate is one tool that might be a worker, with its quoted schema and the caller's judgement.
type Candidate struct {
	ID              string `json:"id"`
	ProvenanceLabel string `json:"provenance_label"`
	// Excerpt is the quoted text with its delimiters, at most MaxExcerpt code points.
	Excerpt string `json:"excerpt"`
	// ExcerptSHA256 is the lowercase hex digest of the whole excerpt.
	ExcerptSHA256 string   `json:"excerpt_sha256"`
	ExcerptFields []string `json:"excerpt_fields,omitzero"`
	// PromptLikeDirective is the caller's judgement; only an explicit false clears the candidate.
	PromptLikeDirective *bool       `json:"prompt_like_directive"`
	Eligibility         Eligibility `json:"eligibility"`
}

// Eligibility holds the five conditions of a generic worker, each true, false or null for not known.
type Eligibility struct {
	SelfContainedPacket      *bool `json:"self_contained_packet"`
	BoundedStop              *bool `json:"bounded_stop"`
	MutationScopeExpressible *bool `json:"mutation_scope_expressible"`
	ReadableOutput           *bool `json:"readable_output"`
	NoHostMapping            *bool `json:"no_host_mapping"`
}

// Selection is the caller's choice among several eligible candidates, by candidate id.
type Selection struct {
	Winner string `json:"winner"`
	Basis  string `json:"basis"`
}

// CapabilityFacts are the run's facts from before the call; live facts beat them.
type CapabilityFacts struct {
	WorkerContextIsolation   Isolation `json:"worker_context_isolation"`
	WorkerModelOverride      Support   `json:"worker_model_override"`
	WorkerBoundedParallelism Support   `json:"worker_bounded_parallelism"`
}

// Packet says what was done to the task packet before it may leave. ContentSourceRefs does not
// matter to any rule, which is stricter than the seed.
type Packet struct {
	ContentSourceRefs bool `json:"content_source_refs"`
	Minimized         bool `json:"minimized"`
	Allowlisted       bool `json:"allowlisted"`
	SecretRedacted    bool `json:"secret_redacted"`
}

// ScopeReceipt is a source-owned grant of mutation surfaces. The seed names these as the least a
// receipt declares, so Decode lets others pass unread.
type ScopeReceipt struct {
	AuthorityOrigin         string   `json:"authority_origin"`
	CapturedAt              string   `json:"captured_at"`
	FreshnessExpiresAt      string   `json:"freshness_expires_at"`
	AllowedMutationSurfaces []string `json:"allowed_mutation_surfaces"`
}

// DispatchPolicy bounds the waiting. A missing or non-positive bound allows no waiting at all.
type DispatchPolicy struct {
	// MaxCapacityAttempts is the n of the n-th capacity-limited answer that exhausts the dispatch.
	MaxCapacityAttempts int `json:"max_capacity_attempts"`
}

// Live is what the host answered and what was seen of the call. It beats the capability facts.
type Live struct {
	// Attempts are the host's answers, oldest first.
	Attempts []Attempt `json:"attempts"`
	// InvocationStartedAt is when the accepted call started; null before that.
	InvocationStartedAt      *string          `json:"invocation_started_at"`
	CallStatus               CallStatus       `json:"call_status"`
	ObservedContextIsolation Isolation        `json:"observed_context_isolation"`
	ObservedModelSelection   ModelSelection   `json:"observed_model_selection"`
	ObservedParallelism      Parallelism      `json:"observed_parallelism"`
	OutputValidation         OutputValidation `json:"output_validation"`
}

// Attempt is one dispatch and its answer.
type Attempt struct {
	Result AttemptResult `json:"result"`
}

// Observation is the comparison of the state before and after the call.
type Observation struct {
	// Source has to be the caller: a worker's own word proves nothing.
	Source string `json:"source"`
	// The refs name two different records of the state, each with its lowercase hex SHA-256.
	PreStateRef     string `json:"pre_state_ref"`
	PostStateRef    string `json:"post_state_ref"`
	PreStateSHA256  string `json:"pre_state_sha256"`
	PostStateSHA256 string `json:"post_state_sha256"`
	// The times lie before and after the start of the call.
	PreObservedAt  string `json:"pre_observed_at"`
	PostObservedAt string `json:"post_observed_at"`
	// ObservedSurfaces are what was watched: at least one, and every allowed surface.
	ObservedSurfaces []string `json:"observed_surfaces,omitzero"`
	// ChangedSurfaces are what differs; an empty list says that nothing does, an absent one says nothing.
	ChangedSurfaces []Change `json:"changed_surfaces,omitzero"`
}

// Change is one surface that differs; RunOwned says whether the run did it, null when nobody knows.
type Change struct {
	Surface  string `json:"surface"`
	RunOwned *bool  `json:"run_owned"`
}
