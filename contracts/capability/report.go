// The capability report: what a node saw of a session before it asks to call a worker there.

package capability

import (
	"errors"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"countersign/contracts"
	"countersign/contracts/canonjson"
)

// Capacity is whether the session has room for a worker now.
type Capacity string

// The capacities a node may report. Limited is backpressure and waits; an error is none and ends it.
const (
	CapacityAvailable Capacity = "available"
	CapacityLimited   Capacity = "limited"
	CapacityError     Capacity = "error"
)

// SessionIdentity names the exact host, tool and contract that a report, and every claim resting on it,
// holds for. Each is 1 to 128 of letters, digits, space and ._:@/+()-.
type SessionIdentity struct {
	Host        string `json:"host"`
	HostVersion string `json:"host_version"`
	Tool        string `json:"tool"`
	ToolVersion string `json:"tool_version"`
	// Contract is the capability contract that the node speaks, Version.
	Contract string `json:"contract"`
}

var identityWord = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9 ._:@/+()-]{0,127}$`)

// Complete reports whether the identity names everything a claim has to be bound to.
func (s SessionIdentity) Complete() bool {
	for _, word := range []string{s.Host, s.HostVersion, s.Tool, s.ToolVersion} {
		if !identityWord.MatchString(word) || SecretLike(word) {
			return false
		}
	}
	return s.Contract == Version
}

// Report is one look at one session. CapturedAt is the node's own time and only recorded.
type Report struct {
	SessionIdentity SessionIdentity `json:"session_identity"`
	CapturedAt      string          `json:"captured_at"`
	Discovery       *Discovery      `json:"discovery"`
	CapabilityFacts CapabilityFacts `json:"capability_facts"`
	Capacity        Capacity        `json:"capacity"`
}

// maxCandidates is how many tools a report may list. Sealed, each takes hundreds of bytes, however few
// were sent for it.
const maxCandidates = 1000

// DecodeReport reads a report like Decode reads an input: strict about the document, lenient about
// values, with at most maxCandidates candidates. The error is a *contracts.Error with a path relative to the report, as far as its keys are the
// report's own; it never repeats a value, nor a key that somebody else may have chosen.
func DecodeReport(data []byte) (Report, error) {
	var r Report
	_, err := decode(data, reflect.ValueOf(&r).Elem())
	if fault, ok := errors.AsType[*contracts.Error](err); ok && fault.Path != "" {
		return r, contracts.Invalid(ownPath(fault.Path), "%s", fault.Detail)
	}
	if err == nil && r.Discovery != nil && len(r.Discovery.Candidates) > maxCandidates {
		return r, contracts.Invalid("$.discovery.candidates", "must have at most %d items", maxCandidates)
	}
	return r, err
}

// ownPath is the path as far as a report has such fields.
func ownPath(path string) string {
	own := "$"
	for step := range strings.SplitSeq(strings.TrimPrefix(path, "$."), ".") {
		name, _, _ := strings.Cut(step, "[")
		if !reportFields()[name] {
			break
		}
		own += "." + step
	}
	return own
}

// reportFields are the names of all fields of a report, at any depth.
var reportFields = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{}
	var collect func(reflect.Type)
	collect = func(t reflect.Type) {
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct {
			return
		}
		for i := range t.NumField() {
			name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
			names[name] = true
			collect(t.Field(i).Type)
		}
	}
	collect(reflect.TypeFor[Report]())
	return names
})

// basisLimit is how many characters of a completeness basis are kept.
const basisLimit = 500

// Seal is the report as it may be stored and carried: without a word of a provider. The evaluation is
// the same. An admissible excerpt is replaced by a quote of its digest, another one by nothing; a tool's
// name by its place in the list; a word that is not the contract's by none; only the caller's own basis
// stays as text, redacted.
func (r Report) Seal() Report {
	if !r.SessionIdentity.Complete() {
		r.SessionIdentity = SessionIdentity{}
	}
	if _, ok := parseTime(r.CapturedAt); !ok {
		r.CapturedAt = ""
	}
	r.Capacity = only(r.Capacity, CapacityAvailable, CapacityLimited, CapacityError)
	r.CapabilityFacts = CapabilityFacts{
		WorkerContextIsolation:   only(r.CapabilityFacts.WorkerContextIsolation, IsolationIsolated, IsolationInherited, IsolationUnknown),
		WorkerModelOverride:      only(r.CapabilityFacts.WorkerModelOverride, Supported, Unsupported, SupportUnknown),
		WorkerBoundedParallelism: only(r.CapabilityFacts.WorkerBoundedParallelism, Supported, Unsupported, SupportUnknown),
	}
	if r.Discovery != nil {
		sealed := r.Discovery.seal()
		r.Discovery = &sealed
	}
	return r
}

func (d Discovery) seal() Discovery {
	d.Surface = only(d.Surface, DiscoveryPresent, DiscoveryNone, DiscoveryFailed)
	d.CaptureMethod = only(d.CaptureMethod, CaptureToolRegistry, CaptureStartupRegistration, CaptureEquivalent)
	d.SchemaCompleteness = only(d.SchemaCompleteness, CompletenessConfirmed, "unconfirmed")
	if d.CompletenessBasis != nil {
		basis := redact(strings.TrimSpace(strings.Map(func(r rune) rune {
			if unseen(r) {
				return -1
			}
			return r
		}, *d.CompletenessBasis)))
		if runes := []rune(basis); len(runes) > basisLimit {
			basis = string(runes[:basisLimit])
		}
		d.CompletenessBasis = &basis
	}
	names := map[string]string{}
	if d.Candidates != nil {
		sealed := make([]Candidate, len(d.Candidates))
		for i, c := range d.Candidates {
			if names[c.ID] == "" {
				names[c.ID] = placeName(i)
			}
			sealed[i] = c.seal(names[c.ID])
		}
		d.Candidates = sealed
	}
	if d.Selection != nil {
		d.Selection = &Selection{Winner: names[d.Selection.Winner], Basis: only(d.Selection.Basis, SelectionBySchema)}
	}
	return d
}

func (c Candidate) seal(name string) Candidate {
	sealed := Candidate{ID: name, PromptLikeDirective: c.PromptLikeDirective, Eligibility: c.Eligibility}
	if Admissible(c) == nil {
		sealed.ProvenanceLabel, sealed.ExcerptFields = c.ProvenanceLabel, c.ExcerptFields
		sealed.Excerpt = opening + "sha256:" + c.ExcerptSHA256 + closing
		sealed.ExcerptSHA256 = canonjson.Digest([]byte(sealed.Excerpt))
	}
	return sealed
}

// placeName stands for the name of the candidate at index i.
func placeName(i int) string { return "candidate-" + strconv.Itoa(i+1) }

// only is word when it is one of known, and else nothing.
func only[T ~string](word T, known ...T) T {
	if slices.Contains(known, word) {
		return word
	}
	return ""
}
