// Acceptance of artifacts: entry, receipt and done are one, and everybody reads the same bytes.

package api_test

import (
	"crypto/ed25519"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"countersign/api/apitest"
	"countersign/contracts"
	"countersign/contracts/lineage"
	"countersign/contracts/receipt"
	"countersign/contracts/workflow"
	"countersign/store"
	"countersign/store/storetest"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"
)

// produce takes a dispatched artifact task to acceptance.
func produce(t *testing.T, s *apitest.Stack, data string) string {
	t.Helper()
	h := s.Claim().Run()
	hash := apitest.Into[workflow.Upload](t, 200, h.Upload(data)).ContentHash
	apitest.Into[workflow.EventAnswer](t, 200, h.Event(h.Produced(hash)))
	v := s.Claim().Run()
	e := v.Produced(hash)
	e.Verdict = v.Verdict()
	answer := apitest.Into[workflow.EventAnswer](t, 200, v.Event(e))
	require.Equal(t, workflow.PhaseAccepted, answer.WorkflowPhase)
	return hash
}

func TestArtifactAccepted(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	task := producing(t, s, dataset).TaskID
	apitest.Refused(t, 404, contracts.CodeNotFound, s.Operator("GET", "/v1/tasks/"+task+"/artifact", nil))
	hash := produce(t, s, rows)

	got := apitest.Into[workflow.Task](t, 200, s.Operator("GET", "/v1/tasks/"+task, nil))
	require.Equal(t, workflow.TaskDone, got.Status)
	require.Equal(t, hash, *got.Workflow.CandidateHash)
	require.Equal(t, canonicalRows, string(s.Operator("GET", "/v1/tasks/"+task+"/artifact", nil).Body))

	// The receipt names the entry, and the entry is the only line of the project's log.
	r := apitest.Into[workflow.Receipt](t, 200, s.Operator("GET", "/v1/tasks/"+task+"/receipt", nil))
	require.Nil(t, r.CandidateCommit)
	require.Equal(t, hash, *r.CandidateHash)
	verified, err := receipt.Verify(r.Envelope, receipt.Trust{Pinned: []receipt.PublicKey{storetest.Key(t, storetest.First).Public()}})
	require.NoError(t, err)
	require.Equal(t, hash, verified.CandidateHash)
	page := readLineage(t, s, s.Project.ID)
	require.Len(t, page.lines, 1)
	entry := page.lines[0].Entry
	require.Equal(t, lineage.Entry{TaskID: task, Kind: "dataset", ContentHash: hash}, entry)
	require.Equal(t, entry.Hash(), *r.EntryHash)
	require.Equal(t, entry.Hash(), verified.EntryHash)
	sound(t, s)

	// The check names damage to what was accepted.
	for _, damage := range []struct{ sql, rule string }{
		{`UPDATE blob_parts SET body = body || ' '`, "blob_has_its_hash"},
		{`UPDATE uploads SET content_hash = NULL`, "candidates_were_uploaded"},
		{`UPDATE lineage_heads SET head = replace(convert_from(head, 'UTF8'), '"entries":1', '"entries":2')::bytea`, "lineage_is_a_signed_chain"},
		{`UPDATE receipts SET entry_hash = candidate_hash`, "accepted_artifacts_are_recorded"},
		{`UPDATE revisions SET candidate_hash = 'sha256:' || repeat('0', 64)`, "receipt_matches_revision"},
	} {
		_, err := s.Pool.Exec(t.Context(), damage.sql)
		require.NoError(t, err)
		require.Contains(t, findings(t, s), damage.rule)
	}
}

// readPage is a project's whole log as its reader checks it.
type readPage struct {
	lines []lineage.Line
	head  lineage.Head
}

// readLineage reads a project's log in pages of one line and verifies every line and the head.
func readLineage(t *testing.T, s *apitest.Stack, projectID string) readPage {
	t.Helper()
	var out readPage
	for tip := lineage.EmptyTip(); ; {
		page := apitest.Into[workflow.LineagePage](t, 200, s.Operator("GET", fmt.Sprintf("/v1/projects/%s/lineage?limit=1&after=%d", projectID, len(out.lines)), nil))
		card, err := lineage.ParseCard(page.Card)
		require.NoError(t, err)
		out.head, err = lineage.ParseHead(page.Head)
		require.NoError(t, err)
		for _, raw := range page.Lines {
			line, err := lineage.ParseLine([]byte(raw.Line))
			require.NoError(t, err)
			require.Empty(t, lineage.VerifyRecord(line, tip.Chain, raw.Sidecar, card.Keys(), nil))
			tip = lineage.Tip{Entries: tip.Entries + 1, Chain: line.Chain}
			out.lines = append(out.lines, line)
		}
		if int64(len(out.lines)) == out.head.Entries {
			require.Equal(t, tip, out.head.Tip())
			require.Empty(t, out.head.Verify(card.Keys(), nil))
			return out
		}
	}
}

// TestTwoInstallsRecordTheSame: other keys, other secrets, other clocks; the same task and bytes are the
// same content and the same entry, and one changed byte changes both.
func TestTwoInstallsRecordTheSame(t *testing.T) {
	t.Parallel()
	record := func(seed byte, secret, data string) workflow.LineageEntry {
		s := storetest.NewScene(t)
		signer := func() (lineage.Signer, error) {
			return lineage.Signer{Key: ed25519.NewKeyFromSeed([]byte(strings.Repeat(string(rune(seed)), 32))), Secret: []byte(secret)}, nil
		}
		st := s.Open(t, store.Options{Lineage: signer})
		made, err := st.Attach(t.Context(), s.Owner.User, s.Project.ID, store.Blob{
			ContentHash: contentHash(data), Bytes: int64(len(data)), Content: strings.NewReader(data),
		})
		require.NoError(t, err)
		return made
	}
	one, two, other := record('a', "", "numbers"), record('b', "secret", "numbers"), record('a', "", "numberz")
	require.Equal(t, one, two)
	require.NotEqual(t, one.ContentHash, other.ContentHash)
	require.NotEqual(t, one.EntryHash, other.EntryHash)
}

// TestArtifactAcceptanceIsOne: when the last write of the acceptance fails there is no entry, no receipt
// and no done task; repeated, it is all there once.
func TestArtifactAcceptanceIsOne(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	task := producing(t, s, dataset).TaskID
	h := s.Claim().Run()
	hash := apitest.Into[workflow.Upload](t, 200, h.Upload(rows)).ContentHash
	apitest.Into[workflow.EventAnswer](t, 200, h.Event(h.Produced(hash)))
	v := s.Claim().Run()
	e := v.Produced(hash)
	e.Verdict = v.Verdict()
	v.Sequence++
	e.Fence, e.Sequence = v.Fence(), v.Sequence
	// The ledger is written last of all.
	_, err := s.Pool.Exec(t.Context(), `CREATE FUNCTION break() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'broken'; END $$;
		CREATE TRIGGER broken BEFORE INSERT ON ledger FOR EACH ROW EXECUTE FUNCTION break()`)
	require.NoError(t, err)
	require.Equal(t, http.StatusServiceUnavailable, v.TryPost("events", e).Status)
	require.Equal(t, workflow.PhaseVerifying, s.Detail(task).Phase)
	apitest.Refused(t, 404, contracts.CodeNotFound, s.Operator("GET", "/v1/tasks/"+task+"/receipt", nil))
	require.Empty(t, apitest.Into[workflow.LineagePage](t, 200, s.Operator("GET", "/v1/projects/"+s.Project.ID+"/lineage", nil)).Lines)
	_, err = s.Pool.Exec(t.Context(), `DROP FUNCTION break() CASCADE`)
	require.NoError(t, err)
	answer := apitest.Into[workflow.EventAnswer](t, 200, v.Post("events", e))
	require.Equal(t, workflow.PhaseAccepted, answer.WorkflowPhase)
	require.Len(t, readLineage(t, s, s.Project.ID).lines, 1)
	sound(t, s)
}

// bundle is a report whose one material number is anchored.
func bundle(t *testing.T, body, value, kind, ref string) string {
	t.Helper()
	data, err := json.Marshal(map[string]any{
		"body":    body,
		"figures": []any{map[string]any{"value": value, "label": "users", "anchor": map[string]any{"kind": kind, "ref": ref}}},
	})
	require.NoError(t, err)
	return string(data)
}

const grounded = `{"kind":"report","output_path":"r.json","criteria":[{"type":"figures_grounded","value":"%s"}]}`

// TestGroundedReport: numbers that trace to a record of the project pass, whatever the record is; others
// do not, unless the task only warns, and then the acceptance says what an audit will.
func TestGroundedReport(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	attached := apitest.Into[workflow.LineageEntry](t, 201, apitest.CallWith(t, "POST", s.URL, "/v1/projects/"+s.Project.ID+"/attachments",
		s.OwnerToken, nil, strings.NewReader("users,1234\n")))
	require.Equal(t, int64(1), attached.Position)
	again := apitest.Into[workflow.LineageEntry](t, 201, apitest.CallWith(t, "POST", s.URL, "/v1/projects/"+s.Project.ID+"/attachments",
		s.OwnerToken, nil, strings.NewReader("users,1234\n")))
	require.Equal(t, attached, again, "the same bytes are the same record")

	producing(t, s, fmt.Sprintf(grounded, ""))
	h := s.Claim().Run()
	upload := func(data string) workflow.Upload { return apitest.Into[workflow.Upload](t, 200, h.Upload(data)) }
	const body = "We moved 1,234 users."
	require.True(t, upload(bundle(t, body, "1,234", "attachment", attached.ContentHash)).Passed())
	for name, bad := range map[string]string{
		"an artifact is no attachment": bundle(t, body, "1,234", "artifact", attached.ContentHash),
		"nothing has that hash":        bundle(t, body, "1,234", "attachment", contentHash("else")),
		"no such receipt":              bundle(t, body, "1,234", "receipt", "r1"),
		"no text to PostgreSQL":        bundle(t, body, "1,234", "receipt", "r\x00"),
		"another number":               bundle(t, "We moved 1,235 users.", "1,234", "attachment", attached.ContentHash),
	} {
		up := upload(bad)
		require.False(t, up.Passed(), name)
	}
	require.Contains(t, upload(bundle(t, "We moved 1,235 users.", "1,234", "attachment", attached.ContentHash)).Criteria[0].Detail,
		"unanchored count '1,235' at line 1, col 10")

	// Another project's record grounds nothing here.
	project := apitest.Into[workflow.Project](t, 201, s.Operator("POST", "/v1/projects", workflow.CreateProject{Name: "p", Repository: "r"}))
	foreign := apitest.Into[workflow.LineageEntry](t, 201, apitest.CallWith(t, "POST", s.URL, "/v1/projects/"+project.ID+"/attachments",
		s.OwnerToken, nil, strings.NewReader("foreign")))
	require.False(t, upload(bundle(t, body, "1,234", "attachment", foreign.ContentHash)).Passed())

	// A node attaches for its project while it runs; damage to the record shows at once.
	seen := apitest.Into[workflow.LineageEntry](t, 201, apitest.CallWith(t, "POST", s.URL, "/bridge/v1/executions/"+h.ExecutionID+"/attachments",
		s.NodeToken, h.FenceHeader(), strings.NewReader("seen: 1234")))
	require.True(t, upload(bundle(t, body, "1,234", "attachment", seen.ContentHash)).Passed())
	_, err := s.Pool.Exec(t.Context(), `UPDATE lineage SET sidecar = replace(sidecar, '..', '..A') WHERE entry_hash = $1`, seen.EntryHash)
	require.NoError(t, err)
	require.Contains(t, upload(bundle(t, body, "1,234", "attachment", seen.ContentHash)).Criteria[0].Detail, "record does not verify: signature")
	require.Contains(t, findings(t, s), "lineage_is_a_signed_chain")
	_, err = s.Pool.Exec(t.Context(), `UPDATE lineage SET sidecar = replace(sidecar, '..A', '..') WHERE entry_hash = $1`, seen.EntryHash)
	require.NoError(t, err)

	// To acceptance; then the report itself, and its receipt, ground the next one.
	hash := upload(bundle(t, body, "1,234", "attachment", attached.ContentHash)).ContentHash
	apitest.Into[workflow.EventAnswer](t, 200, h.Event(h.Produced(hash)))
	v := s.Claim().Run()
	e := v.Produced(hash)
	e.Verdict = v.Verdict()
	apitest.Into[workflow.EventAnswer](t, 200, v.Event(e))
	r := apitest.Into[workflow.Receipt](t, 200, s.Operator("GET", "/v1/tasks/"+h.Plan.TaskID+"/receipt", nil))
	sound(t, s)

	warned := producing(t, s, fmt.Sprintf(grounded, "warn")).TaskID
	h = s.Claim().Run()
	require.True(t, upload(bundle(t, body, "1,234", "artifact", hash)).Passed())
	require.True(t, upload(bundle(t, body, "1,234", "receipt", r.ReceiptID)).Passed())
	up := upload(bundle(t, "We moved 9,999 users.", "1,234", "artifact", hash))
	require.True(t, up.Passed())
	require.Contains(t, up.Criteria[0].Detail, "WARN: ")
	apitest.Into[workflow.EventAnswer](t, 200, h.Event(h.Produced(up.ContentHash)))
	v = s.Claim().Run()
	e = v.Produced(up.ContentHash)
	e.Verdict = v.Verdict()
	apitest.Into[workflow.EventAnswer](t, 200, v.Event(e))
	d := s.Detail(warned)
	require.Contains(t, string(d.History[len(d.History)-1].Data), "verify is always strict")
}

// TestTheFirstRecordOfAContentGrounds: of two records of the same bytes the first one counts, as it does
// offline.
func TestTheFirstRecordOfAContentGrounds(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	var hash string
	for range 2 {
		producing(t, s, dataset)
		hash = produce(t, s, rows)
	}
	require.Len(t, readLineage(t, s, s.Project.ID).lines, 2)
	producing(t, s, fmt.Sprintf(grounded, ""))
	h := s.Claim().Run()
	passes := func() bool {
		return apitest.Into[workflow.Upload](t, 200, h.Upload(bundle(t, "We moved 1,234 users.", "1,234", "artifact", hash))).Passed()
	}
	require.True(t, passes())
	for position, counts := range map[int]bool{1: true, 2: false} {
		spoil := func(from, to string) {
			_, err := s.Pool.Exec(t.Context(), `UPDATE lineage SET sidecar = replace(sidecar, $1, $2) WHERE position = $3`, from, to, position)
			require.NoError(t, err)
		}
		spoil("..", "..A")
		require.Equal(t, !counts, passes(), position)
		spoil("..A", "..")
	}
}

// TestNoArtifactWithoutALineageKey: a task that no worker could record is not dispatched, others are.
func TestNoArtifactWithoutALineageKey(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	_, err := s.Pool.Exec(t.Context(), `UPDATE signers SET lineage = false`)
	require.NoError(t, err)
	stopWorkers(s)
	_, err = s.Pool.Exec(t.Context(), `DELETE FROM signers WHERE lineage`)
	require.NoError(t, err)
	task := apitest.Into[workflow.Task](t, 201, s.Operator("POST", "/v1/tasks", workflow.CreateTask{
		WriteContext: s.WriteContext(), Title: "Produce", Goal: "Rows.", ArtifactSpec: []byte(dataset),
	}))
	apitest.Refused(t, 503, contracts.CodeUnavailable, apitest.Once(t, "POST", s.URL, "/v1/workflows", s.OwnerToken, workflow.DispatchRequest{Spec: s.Spec(task), WriteContext: s.WriteContext()}))
	s.DispatchTask()
}

// TestArtifactRaces: many attachments and acceptances of one project at once make one chain.
func TestArtifactRaces(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{APIs: 2})
	const writers, each = 8, 6
	done := make(chan error, writers)
	for w := range writers {
		go func() {
			for i := range each {
				// Half of them are the same bytes for everybody.
				data := fmt.Sprint("common", i)
				if i%2 == 0 {
					data = fmt.Sprint("own", w, i)
				}
				r, err := http.NewRequest("POST", s.URLs[w%2]+"/v1/projects/"+s.Project.ID+"/attachments", strings.NewReader(data))
				if err == nil {
					r.Header.Set("Authorization", "Bearer "+s.OwnerToken)
					var resp *http.Response
					if resp, err = http.DefaultClient.Do(r); err == nil {
						resp.Body.Close()
						if resp.StatusCode != 201 {
							err = fmt.Errorf("status %d", resp.StatusCode)
						}
					}
				}
				if err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	producing(t, s, dataset)
	produce(t, s, rows)
	for range writers {
		require.NoError(t, <-done)
	}
	require.Len(t, readLineage(t, s, s.Project.ID).lines, writers*each/2+each/2+1)
	sound(t, s)
}

// findings are the rules that the database check finds broken.
func findings(t *testing.T, s *apitest.Stack) (rules []string) {
	t.Helper()
	found, err := s.Store.Fsck(t.Context())
	require.NoError(t, err)
	for _, f := range found {
		rules = append(rules, f.Rule)
	}
	return rules
}
