// Answers of the host, the course of a call and what was seen of it.

package capability_test

import (
	"testing"

	"countersign/contracts/capability"

	"github.com/stretchr/testify/require"
)

func answers(results ...capability.AttemptResult) *capability.Live {
	l := &capability.Live{CallStatus: capability.CallNotInvoked, Attempts: []capability.Attempt{}}
	for _, r := range results {
		l.Attempts = append(l.Attempts, capability.Attempt{Result: r})
	}
	return l
}

func TestAnswersWithoutAcceptance(t *testing.T) {
	t.Parallel()
	const limited, failure = capability.AttemptCapacityLimited, capability.AttemptError
	for _, c := range []struct {
		bound  int
		live   *capability.Live
		action capability.Action
		status capability.Status
		codes  []capability.ReasonCode
	}{
		{3, answers(), "wait", "", nil},
		{3, &capability.Live{}, "wait", "", nil},
		{3, answers(limited), "wait", "", nil},
		{3, answers(limited, limited), "wait", "", nil},
		{3, answers(limited, limited, limited), "fallback", "degraded", codes("dispatch_backpressure_exhausted")},
		{3, answers(limited, limited, limited, limited), "fallback", "degraded", codes("dispatch_backpressure_exhausted")},
		{1, answers(), "wait", "", nil},
		{1, answers(limited), "fallback", "degraded", codes("dispatch_backpressure_exhausted")},
		{2, answers(limited), "wait", "", nil},
		// A bound that is none allows no waiting.
		{0, answers(limited), "fallback", "degraded", codes("dispatch_backpressure_exhausted")},
		{-5, answers(limited), "fallback", "degraded", codes("dispatch_backpressure_exhausted")},
		{0, answers(), "wait", "", nil},
		{3, answers(failure), "fallback", "failed", codes("worker_dispatch_failed")},
		{3, answers(limited, failure), "fallback", "failed", codes("worker_dispatch_failed")},
		{2, answers(limited, failure), "fallback", "failed", codes("worker_dispatch_failed")},
		{3, answers(failure, limited), "fallback", "failed", codes("worker_dispatch_failed")},
		{3, answers(""), "fallback", "failed", codes("worker_dispatch_failed")},
		{3, answers("Accepted"), "fallback", "failed", codes("worker_dispatch_failed")},
		{3, answers("queued"), "fallback", "failed", codes("worker_dispatch_failed")},
		{2, answers(limited, limited, failure), "fallback", "failed", codes("dispatch_backpressure_exhausted", "worker_dispatch_failed")},
		// Facts of a call that nobody accepted.
		{3, &capability.Live{CallStatus: "succeeded"}, "fallback", "failed", codes("worker_dispatch_failed")},
		{3, &capability.Live{CallStatus: "failed"}, "fallback", "failed", codes("worker_dispatch_failed")},
		{3, &capability.Live{CallStatus: "running"}, "fallback", "failed", codes("worker_dispatch_failed")},
		{3, &capability.Live{InvocationStartedAt: new("2026-08-20T11:45:00Z")}, "fallback", "failed", codes("worker_dispatch_failed")},
		{3, &capability.Live{InvocationStartedAt: new("")}, "wait", "", nil},
	} {
		in := ready(func(in *capability.Input) {
			in.DispatchPolicy.MaxCapacityAttempts, in.Live = c.bound, c.live
		})
		r := capability.Evaluate(in)
		require.Empty(t, inconsistency(in, r))
		require.Equal(t, c.action, r.Action, "%d %v", c.bound, c.live)
		require.ElementsMatch(t, c.codes, r.Outcome.ReasonCodes, "%d %v", c.bound, c.live)
		require.Equal(t, capability.ModeSerial, r.Outcome.ExecutionMode)
		if c.status == "" {
			require.Nil(t, r.Outcome.Status)
			require.Equal(t, []string{scopeRef}, r.Outcome.AuthorizationReceipts)
			continue
		}
		requireStatus(t, c.status, r)
		require.Empty(t, r.Outcome.AuthorizationReceipts)
	}
}

// What was seen of a call before it was accepted was not seen.
func TestNothingIsRealisedBeforeAcceptance(t *testing.T) {
	t.Parallel()
	in := settled(func(in *capability.Input) { in.Live.Attempts = in.Live.Attempts[:1] })
	r := capability.Evaluate(in)
	require.Empty(t, inconsistency(in, r))
	require.Equal(t, capability.ActionFallback, r.Action)
	require.Equal(t, codes(capability.WorkerDispatchFailed), r.Outcome.ReasonCodes)
	require.Equal(t, capability.ModelUnknown, r.Outcome.ModelSelection)
	require.Equal(t, allClaims, r.ClaimsDenied)
}

func TestCourseOfAnAcceptedCall(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		results []capability.AttemptResult
		call    capability.CallStatus
		output  capability.OutputValidation
		status  capability.Status
		codes   []capability.ReasonCode
	}{
		{[]capability.AttemptResult{"accepted"}, "succeeded", "passed", "succeeded", nil},
		{[]capability.AttemptResult{"capacity_limited", "capacity_limited", "capacity_limited", "accepted"}, "succeeded", "passed", "succeeded", nil},
		{[]capability.AttemptResult{"error", "accepted"}, "succeeded", "passed", "failed", codes("worker_dispatch_failed")},
		{[]capability.AttemptResult{"accepted", "error"}, "succeeded", "passed", "failed", codes("worker_dispatch_failed")},
		{[]capability.AttemptResult{"accepted", ""}, "succeeded", "passed", "failed", codes("worker_dispatch_failed")},
		{[]capability.AttemptResult{"accepted"}, "failed", "not_applicable", "failed", codes("worker_dispatch_failed")},
		{[]capability.AttemptResult{"accepted"}, "failed", "passed", "failed", codes("worker_dispatch_failed")},
		{[]capability.AttemptResult{"accepted"}, "failed", "", "failed", codes("worker_dispatch_failed")},
		{[]capability.AttemptResult{"accepted"}, "failed", "failed", "blocked", codes("worker_dispatch_failed", "worker_output_invalid")},
		{[]capability.AttemptResult{"accepted"}, "not_invoked", "not_applicable", "failed", codes("worker_dispatch_failed")},
		{[]capability.AttemptResult{"accepted"}, "", "passed", "failed", codes("worker_dispatch_failed")},
		{[]capability.AttemptResult{"accepted"}, "Succeeded", "passed", "failed", codes("worker_dispatch_failed")},
		{[]capability.AttemptResult{"accepted"}, "succeeded", "failed", "blocked", codes("worker_output_invalid")},
		{[]capability.AttemptResult{"accepted"}, "succeeded", "not_applicable", "blocked", codes("worker_output_invalid")},
		{[]capability.AttemptResult{"accepted"}, "succeeded", "", "blocked", codes("worker_output_invalid")},
		{[]capability.AttemptResult{"accepted"}, "succeeded", "Passed", "blocked", codes("worker_output_invalid")},
		{[]capability.AttemptResult{"accepted", "error"}, "succeeded", "failed", "blocked", codes("worker_dispatch_failed", "worker_output_invalid")},
	} {
		in := settled(func(in *capability.Input) {
			in.Live.Attempts = answers(c.results...).Attempts
			in.Live.CallStatus, in.Live.OutputValidation = c.call, c.output
		})
		r := capability.Evaluate(in)
		require.Empty(t, inconsistency(in, r))
		requireStatus(t, c.status, r)
		require.ElementsMatch(t, c.codes, r.Outcome.ReasonCodes, "%v", c)
		require.Equal(t, c.status == "succeeded", r.ResultPromotable)
	}
}

// Needs against what was seen, with every capability fact: the fact never makes up for the sight.
func TestRealisedNeeds(t *testing.T) {
	t.Parallel()
	type words struct{ need, fact, seen string }
	run := func(w words, set func(*capability.Input, words), want ...capability.ReasonCode) capability.Result {
		in := settled(serialLax, func(in *capability.Input) { set(in, w) })
		r := capability.Evaluate(in)
		require.Empty(t, inconsistency(in, r))
		require.Equal(t, codes(want...), r.Outcome.ReasonCodes, "%v", w)
		require.True(t, r.ResultPromotable)
		if len(want) > 0 {
			requireStatus(t, "degraded", r)
		} else {
			requireStatus(t, "succeeded", r)
		}
		return r
	}
	for _, need := range []string{"required", "preferred", "irrelevant", "", "weird"} {
		for _, fact := range []string{"isolated", "inherited", "unknown", ""} {
			for _, seen := range []string{"isolated", "inherited", "unknown", "none", "", "Isolated"} {
				var want []capability.ReasonCode
				switch {
				case seen == "isolated", need == "irrelevant":
				case need == "preferred":
					want = codes("isolation_degraded_inherited")
				default:
					want = codes("isolation_requirement_unmet")
				}
				r := run(words{need, fact, seen}, func(in *capability.Input, w words) {
					in.Request.ContextIsolationNeed = capability.IsolationNeed(w.need)
					in.CapabilityFacts.WorkerContextIsolation = capability.Isolation(w.fact)
					in.Live.ObservedContextIsolation = capability.Isolation(w.seen)
				}, want...)
				require.Equal(t, seen == "isolated", r.IndependenceGate == "closed")
				if seen == "" || seen == "Isolated" {
					seen = "unknown"
				}
				require.EqualValues(t, seen, r.Outcome.RealizedIsolation)
			}
		}
	}
	for _, need := range []string{"explicit-tier", "inherited-ok", "", "weird"} {
		for _, fact := range []string{"supported", "unsupported", "unknown", ""} {
			for _, seen := range []string{"requested", "inherited", "unknown", "none", ""} {
				var want []capability.ReasonCode
				switch {
				case seen == "requested", need == "inherited-ok":
				case fact == "unsupported":
					want = codes("model_override_unsupported")
				default:
					want = codes("model_override_unknown")
				}
				r := run(words{need, fact, seen}, func(in *capability.Input, w words) {
					in.Request.ModelSelectionNeed = capability.ModelNeed(w.need)
					in.CapabilityFacts.WorkerModelOverride = capability.Support(w.fact)
					in.Live.ObservedModelSelection = capability.ModelSelection(w.seen)
				}, want...)
				if seen != "requested" && seen != "inherited" {
					seen = "unknown"
				}
				require.EqualValues(t, seen, r.Outcome.ModelSelection)
			}
		}
	}
	for _, need := range []string{"bounded", "serial", "", "weird", "none"} {
		for _, fact := range []string{"supported", "unsupported", "unknown", ""} {
			for _, seen := range []string{"bounded", "serial", "none", "unknown", ""} {
				var want []capability.ReasonCode
				if seen != "bounded" && need != "serial" {
					want = codes("parallelism_unproven_serialized")
				}
				r := run(words{need, fact, seen}, func(in *capability.Input, w words) {
					in.Request.DesiredConcurrency = capability.Parallelism(w.need)
					in.CapabilityFacts.WorkerBoundedParallelism = capability.Support(w.fact)
					in.Live.ObservedParallelism = capability.Parallelism(w.seen)
				}, want...)
				if seen == "" {
					seen = "unknown"
				}
				require.EqualValues(t, seen, r.Outcome.RealizedParallelism)
			}
		}
	}
}
