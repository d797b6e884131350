// The bytes of format v 2, built here by hand, and what the parsers refuse.

package lineage_test

import (
	"context"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"

	"countersign/contracts"
	"countersign/contracts/artifact"
	"countersign/contracts/lineage"

	"github.com/gowebpki/jcs"
	"github.com/stretchr/testify/require"
)

// key is a signing key that depends on its name only.
func key(name string) ed25519.PrivateKey {
	seed := sha256.Sum256([]byte(name))
	return ed25519.NewKeyFromSeed(seed[:])
}

func public(k ed25519.PrivateKey) ed25519.PublicKey { return k.Public().(ed25519.PublicKey) }

// memory is a Log that keeps what it is given.
type memory struct {
	records []lineage.Record
	fail    error
}

func (m *memory) Tip(context.Context) (lineage.Tip, error) {
	if len(m.records) == 0 {
		return lineage.EmptyTip(), nil
	}
	return m.records[len(m.records)-1].Head.Tip(), nil
}

func (m *memory) Newest(_ context.Context, path string) (lineage.Entry, bool, error) {
	for i := len(m.records) - 1; i >= 0; i-- {
		if m.records[i].Path() == path {
			return m.records[i].Entry, true, nil
		}
	}
	return lineage.Entry{}, false, nil
}

func (m *memory) Append(_ context.Context, r lineage.Record) error {
	if m.fail != nil {
		return m.fail
	}
	m.records = append(m.records, r)
	return nil
}

func hexOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// canonical is what another RFC 8785 makes of a document.
func canonical(t testing.TB, document string) string {
	t.Helper()
	out, err := jcs.Transform([]byte(document))
	require.NoError(t, err)
	return string(out)
}

func TestBytesOfTheFormat(t *testing.T) {
	t.Parallel()
	secret := []byte("operator")
	s := lineage.Signer{Key: key("a"), Secret: secret}
	log := &memory{}
	first, second := lineage.HashOf([]byte("one")), lineage.HashOf([]byte("two"))
	for _, hash := range []string{first, first, second} {
		_, _, err := lineage.Append(t.Context(), log, s, lineage.Deliverable{TaskID: "RPT-1", Kind: artifact.Report, ContentHash: hash})
		require.NoError(t, err)
	}
	_, _, err := lineage.Append(t.Context(), log, s, lineage.Deliverable{Kind: lineage.Attachment, ContentHash: first})
	require.NoError(t, err)
	require.Len(t, log.records, 3, "the same bytes again are no new entry")

	body := func(parents string) string {
		return canonical(t, `{"v":2,"agent_id":"agent:artifact-completion","agent_card_kid":"artifact-completion-1",
			"artefact_kind":"report","artefact_path":".sdd/artifacts/RPT-1/artifact.bin","content_hash":"`+map[bool]string{true: first, false: second}[parents == ""]+`",
			"parent_hashes":[`+parents+`],"tool_call_id":"artifact:RPT-1","span_id":"`+hexOf("artifact:RPT-1:report")[:16]+`","ts_ns":0}`)
	}
	attachment := canonical(t, `{"v":2,"agent_id":"agent:artifact-completion","agent_card_kid":"artifact-completion-1",
		"artefact_kind":"attachment","artefact_path":".sdd/attachments/`+first[7:]+`","content_hash":"`+first+`","parent_hashes":[],
		"tool_call_id":"attachment:`+first[7:]+`","span_id":"`+hexOf("attachment:" + first[7:])[:16]+`","ts_ns":0}`)
	hash1 := "sha256:" + hexOf(body(""))
	bodies := []string{body(""), body(`"` + hash1 + `"`), attachment}
	chain := strings.Repeat("0", 64)
	for i, want := range bodies {
		r := log.records[i]
		require.Equal(t, want, string(r.Body()))
		require.Equal(t, "sha256:"+hexOf(want), r.EntryHash)
		chain = hexOf(chain + r.EntryHash)
		mac := hmac.New(sha256.New, secret)
		mac.Write([]byte(chain))
		seal := hex.EncodeToString(mac.Sum(nil))
		line := canonical(t, strings.TrimSuffix(want, "}")+`,"chain":"`+chain+`","operator_hmac":"`+seal+`"}`)
		require.Equal(t, line, string(r.Encode()))
		parsed, err := lineage.ParseLine([]byte(line))
		require.NoError(t, err)
		require.Equal(t, r.Line, parsed)

		header := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"EdDSA","b64":false,"crit":["b64"],"kid":"artifact-completion-1"}`))
		head, signature, ok := strings.Cut(r.Sidecar, "..")
		require.True(t, ok)
		require.Equal(t, header, head)
		raw, err := base64.RawURLEncoding.DecodeString(signature)
		require.NoError(t, err)
		require.True(t, ed25519.Verify(public(s.Key), []byte(header+"."+want), raw))
		require.EqualValues(t, i+1, r.Position)
	}

	head := log.records[2].Head
	statement := canonical(t, `{"type":"lineage-head/v2","entries":3,"chain":"`+chain+`"}`)
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(statement))
	require.Equal(t, hex.EncodeToString(mac.Sum(nil)), head.OperatorHMAC)
	require.NoError(t, lineage.VerifyDetached(head.JWS, lineage.KeyID, []byte(statement), []ed25519.PublicKey{public(s.Key)}))
	require.Equal(t, canonical(t, string(head.Encode())), string(head.Encode()))
	back, err := lineage.ParseHead(head.Encode())
	require.NoError(t, err)
	require.Equal(t, head, back)
	require.Empty(t, back.Verify([]ed25519.PublicKey{public(key("b")), public(s.Key)}, secret))
	require.NotEmpty(t, back.Verify([]ed25519.PublicKey{public(key("b"))}, secret))
	require.NotEmpty(t, back.Verify([]ed25519.PublicKey{public(s.Key)}, []byte("other")))
}

func TestTwoInstallsMakeTheSameEntry(t *testing.T) {
	t.Parallel()
	a, b := &memory{}, &memory{}
	record := func(log *memory, name, content string) lineage.Entry {
		e, fresh, err := lineage.Append(t.Context(), log, lineage.Signer{Key: key(name), Secret: []byte(name)},
			lineage.Deliverable{TaskID: "T", Kind: artifact.Dataset, ContentHash: lineage.HashOf([]byte(content))})
		require.NoError(t, err)
		require.True(t, fresh)
		return e
	}
	require.Equal(t, record(a, "a", "x").Hash(), record(b, "b", "x").Hash())
	require.NotEqual(t, a.records[0].Sidecar, b.records[0].Sidecar)
	require.NotEqual(t, a.records[0].OperatorHMAC, b.records[0].OperatorHMAC)
	require.NotEqual(t, record(a, "a", "y").Hash(), record(b, "b", "z").Hash())
}

func TestWhatCannotBeRecorded(t *testing.T) {
	t.Parallel()
	hash := lineage.HashOf(nil)
	for path, d := range map[string]lineage.Deliverable{
		"task_id":       {TaskID: "../x", Kind: artifact.Report, ContentHash: hash},
		"artefact_kind": {TaskID: "T", Kind: artifact.CodeDiff, ContentHash: hash},
		"content_hash":  {TaskID: "T", Kind: artifact.Report, ContentHash: strings.ToUpper(hash)},
	} {
		log := &memory{}
		_, _, err := lineage.Append(t.Context(), log, lineage.Signer{Key: key("a")}, d)
		var refusal *contracts.Error
		require.ErrorAs(t, err, &refusal)
		require.Equal(t, path, refusal.Path)
		require.Empty(t, log.records)
	}
	_, _, err := lineage.Append(t.Context(), &memory{fail: context.Canceled}, lineage.Signer{Key: key("a")},
		lineage.Deliverable{Kind: lineage.Attachment, ContentHash: hash})
	require.ErrorIs(t, err, context.Canceled)
}

func TestLinesAreClosed(t *testing.T) {
	t.Parallel()
	log := &memory{}
	for _, content := range []string{"x", "y"} {
		_, _, err := lineage.Append(t.Context(), log, lineage.Signer{Key: key("a")}, lineage.Deliverable{TaskID: "T", Kind: artifact.Report, ContentHash: lineage.HashOf([]byte(content))})
		require.NoError(t, err)
	}
	good := string(log.records[1].Encode())
	for name, c := range map[string]struct{ old, new, want string }{
		"a key too many":      {`"v":2}`, `"v":2,"x":1}`, "unknown field"},
		"a key missing":       {`"operator_hmac":"",`, ``, "a key is missing"},
		"a key in capitals":   {`"agent_id"`, `"AGENT_ID"`, "unknown field"},
		"a key twice":         {`"v":2}`, `"v":2,"v":2}`, "twice"},
		"white space":         {`"v":2}`, `"v": 2}`, "canonical"},
		"a line feed":         {`"v":2}`, "\"v\":2}\n", "canonical"},
		"an escape":           {`"report"`, `"\u0072eport"`, "canonical"},
		"another version":     {`"v":2}`, `"v":1}`, "is 1 where 2"},
		"a fraction":          {`"v":2}`, `"v":2.0}`, "v"},
		"a time":              {`"ts_ns":0`, `"ts_ns":1`, "ts_ns"},
		"another agent":       {`agent:artifact-completion`, `agent:x`, "agent:x"},
		"another key":         {`artifact-completion-1`, `k2`, "k2"},
		"code_diff":           {`"report"`, `"code_diff"`, "code_diff"},
		"another kind":        {`"report"`, `"dataset"`, "span_id"},
		"another path":        {`.sdd/artifacts/T/`, `.sdd/artifacts/U/`, "tool_call_id"},
		"a path out of it":    {`.sdd/artifacts/T/artifact.bin`, `/etc/passwd`, "task_id"},
		"the key's directory": {`.sdd/artifacts/T/`, `.sdd/artifacts/identity/`, "task_id"},
		"two parents":         {`"parent_hashes":["`, `"parent_hashes":["` + lineage.HashOf(nil) + `","`, "more than one"},
		"a parent in capital": {`"parent_hashes":["sha256:`, `"parent_hashes":["SHA256:`, "parent_hashes"},
		"null parents":        {`"parent_hashes":[`, `"parent_hashes":null,"x":[`, "unknown"},
		"a short chain":       {`"chain":"`, `"chain":"0`, "chain"},
		"a short seal":        {`"operator_hmac":""`, `"operator_hmac":"00"`, "operator_hmac"},
		"an attachment":       {`"report"`, `"attachment"`, "parent"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bad := strings.Replace(good, c.old, c.new, 1)
			require.NotEqual(t, good, bad)
			_, err := lineage.ParseLine([]byte(bad))
			require.ErrorContains(t, err, c.want)
			require.NotEmpty(t, contracts.CodeOf(err))
		})
	}
	_, err := lineage.ParseLine([]byte(good + strings.Repeat(" ", lineage.MaxLine)))
	require.ErrorContains(t, err, "more than")
}

func TestDetachedSignaturesAreStrict(t *testing.T) {
	t.Parallel()
	payload, keys := []byte("payload"), []ed25519.PublicKey{public(key("a"))}
	good := lineage.SignDetached(key("a"), payload)
	require.NoError(t, lineage.VerifyDetached(good, lineage.KeyID, payload, keys))
	header, signature, _ := strings.Cut(good, "..")
	raw, err := base64.RawURLEncoding.DecodeString(signature)
	require.NoError(t, err)
	encode := func(header string) string {
		h := base64.RawURLEncoding.EncodeToString([]byte(header))
		return h + ".." + base64.RawURLEncoding.EncodeToString(ed25519.Sign(key("a"), []byte(h+".payload")))
	}
	require.NoError(t, lineage.VerifyDetached(encode(`{"kid":"k","crit":["b64"],"b64":false,"alg":"EdDSA"}`), "k", payload, keys))
	for name, bad := range map[string]string{
		"empty":                "",
		"attached":             header + "." + base64.RawURLEncoding.EncodeToString(payload) + "." + signature,
		"a line feed":          good + "\n",
		"a line feed inside":   header + "..\n" + signature,
		"a carriage return":    header[:4] + "\r" + header[4:] + ".." + signature,
		"padding":              good + "==",
		"standard base64":      header + ".." + base64.StdEncoding.EncodeToString(raw),
		"loose bits":           good[:len(good)-1] + string(good[len(good)-1]+1),
		"short":                header + ".." + base64.RawURLEncoding.EncodeToString(raw[:63]),
		"another payload":      lineage.SignDetached(key("a"), []byte("other")),
		"another key":          lineage.SignDetached(key("b"), payload),
		"a member more":        encode(`{"alg":"EdDSA","b64":false,"crit":["b64"],"kid":"artifact-completion-1","typ":"x"}`),
		"a member twice":       encode(`{"alg":"EdDSA","alg":"EdDSA","b64":false,"crit":["b64"],"kid":"artifact-completion-1"}`),
		"a member in capitals": encode(`{"ALG":"EdDSA","b64":false,"crit":["b64"],"kid":"artifact-completion-1"}`),
		"no algorithm":         encode(`{"alg":"none","b64":false,"crit":["b64"],"kid":"artifact-completion-1"}`),
		"b64 true":             encode(`{"alg":"EdDSA","b64":true,"crit":["b64"],"kid":"artifact-completion-1"}`),
		"b64 missing":          encode(`{"alg":"EdDSA","crit":["b64"],"kid":"artifact-completion-1"}`),
		"crit missing":         encode(`{"alg":"EdDSA","b64":false,"kid":"artifact-completion-1"}`),
		"crit longer":          encode(`{"alg":"EdDSA","b64":false,"crit":["b64","exp"],"kid":"artifact-completion-1"}`),
		"another kid":          encode(`{"alg":"EdDSA","b64":false,"crit":["b64"],"kid":"k2"}`),
	} {
		require.Error(t, lineage.VerifyDetached(bad, lineage.KeyID, payload, keys), name)
	}
	require.ErrorContains(t, lineage.VerifyDetached(good, lineage.KeyID, payload, nil), "no card")
	require.Error(t, lineage.VerifyDetached(good, lineage.KeyID, payload, []ed25519.PublicKey{nil, {1}}))
}

func TestHeadCardAndReceiptAreClosed(t *testing.T) {
	t.Parallel()
	head := string(lineage.SignHead(lineage.Signer{Key: key("a")}, lineage.Tip{Entries: 1, Chain: hexOf("")}).Encode())
	for old, replaced := range map[string]string{
		`"entries":1`: `"entries":0`, `"operator_hmac":""`: `"operator_hmac":"x"`, `"jws"`: `"JWS"`, `{"chain"`: `{"a":1,"chain"`, `"chain":"`: `"chain":"0`, `,"operator_hmac":""`: ``,
	} {
		bad := strings.Replace(head, old, replaced, 1)
		require.NotEqual(t, head, bad)
		_, err := lineage.ParseHead([]byte(bad))
		require.Error(t, err, bad)
	}
	_, err := lineage.ParseHead([]byte(head + "\n"))
	require.Error(t, err)

	card := lineage.NewCard(public(key("b")), public(key("a")))
	data, err := card.Encode()
	require.NoError(t, err)
	require.Equal(t, canonical(t, string(data)), string(data))
	back, err := lineage.ParseCard(data)
	require.NoError(t, err)
	require.Equal(t, card, back)
	require.Equal(t, []ed25519.PublicKey{public(key("b")), public(key("a"))}, back.Keys())
	for old, replaced := range map[string]string{
		`"kid"`: `"KID"`, `a2a/1.0`: `a2a/1.1`, `"agent_id":"agent:artifact-completion"`: `"agent_id":""`, `{"agent_id"`: `{"a":1,"agent_id"`,
		`-----\n"`: `-----\r\n"`, `BEGIN PUBLIC`: `BEGIN PRIVATE`, `-----BEGIN`: `x\n-----BEGIN`, `,"public_key_pem":"`: `,"public_key_pem":"x`,
	} {
		bad := strings.Replace(string(data), old, replaced, 1)
		require.NotEqual(t, string(data), bad)
		_, err := lineage.ParseCard([]byte(bad))
		require.Error(t, err, bad)
	}
	_, err = lineage.ParseCard([]byte(strings.Repeat(" ", lineage.MaxCard+1)))
	require.Error(t, err)

	e := lineage.Entry{TaskID: "T", Kind: artifact.OpsResult, ContentHash: lineage.HashOf(nil)}
	r := lineage.NewReceipt(e)
	data, err = r.Encode()
	require.NoError(t, err)
	require.Equal(t, canonical(t, `{"task_id":"T","kind":"ops_result","artefact_path":".sdd/artifacts/T/artifact.bin","content_hash":"`+e.ContentHash+`",
		"entry_hash":"`+e.Hash()+`","agent_id":"agent:artifact-completion","agent_card_kid":"artifact-completion-1","ts_ns":0}`), string(data))
	again, err := lineage.ParseReceipt(data)
	require.NoError(t, err)
	require.Equal(t, r, again)
	require.Empty(t, again.Check(r))
	for _, bad := range []string{`{`, `{}`, string(data) + "\n", strings.Replace(string(data), `"ts_ns":0`, `"TS_NS":0`, 1), strings.Replace(string(data), `{`, `{"a":1,`, 1), strings.Replace(string(data), `"ts_ns":0`, `"ts_ns":null`, 1)} {
		_, err := lineage.ParseReceipt([]byte(bad))
		require.Error(t, err, bad)
	}
	other := r
	other.TaskID, other.TsNS = "U", 3
	require.Len(t, other.Check(r), 2)
}
