// Limits at and one over, texts that must come back as they were, texts that must not come in.

package api_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"countersign/api"
	"countersign/api/apitest"
	"countersign/contracts/workflow"
	"countersign/store"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"
)

// do sends a request and reads the whole answer.
func do(t testing.TB, req *http.Request) apitest.Answer {
	t.Helper()
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return apitest.Answer{Status: resp.StatusCode, Header: resp.Header, Body: data}
}

// taskBody is a new task with one member replaced by raw JSON.
func (d *door) taskBody(member, raw string) []byte {
	d.t.Helper()
	wc, err := json.Marshal(d.WriteContext())
	require.NoError(d.t, err)
	members := map[string]string{"write_context": string(wc), "title": `"t"`, "goal": `"g"`}
	members[member] = raw
	var parts []string
	for k, v := range members {
		parts = append(parts, fmt.Sprintf("%q:%s", k, v))
	}
	return []byte("{" + strings.Join(parts, ",") + "}")
}

func TestLimits(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	text := func(n int) string { return `"` + strings.Repeat("ü", n) + `"` }
	list := func(n int) string {
		var items []string
		for i := range n {
			items = append(items, fmt.Sprintf("%q", fmt.Sprint(i)))
		}
		return "[" + strings.Join(items, ",") + "]"
	}
	for name, tc := range map[string]struct {
		member, at, over, path, limit string
	}{
		"title":      {"title", text(200), text(201), "$.title", "200 characters"},
		"goal":       {"goal", text(16384), text(16385), "$.goal", "16384 characters"},
		"repository": {"repository", text(1024), text(1025), "$.repository", "1024 characters"},
		"labels":     {"labels", list(32), list(33), "$.labels", "32 items"},
		"label":      {"labels", "[" + text(64) + "]", "[" + text(65) + "]", "$.labels[0]", "64 characters"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := apitest.Into[map[string]any](t, 201, d.call("POST", "/v1/tasks", d.OwnerToken, d.taskBody(tc.member, tc.at)))
			var want any
			require.NoError(t, json.Unmarshal([]byte(tc.at), &want))
			require.Equal(t, want, at[tc.member])
			again := apitest.Into[map[string]any](t, 200, d.call("GET", "/v1/tasks/"+at["id"].(string), d.OwnerToken, nil))
			require.Equal(t, at, again)
			p := refused(t, 422, "invalid", d.call("POST", "/v1/tasks", d.OwnerToken, d.taskBody(tc.member, tc.over)))
			require.Equal(t, tc.path, p.Path)
			require.Contains(t, p.Detail, tc.limit)
		})
	}
	t.Run("blank", func(t *testing.T) {
		t.Parallel()
		for _, member := range []string{"title", "goal", "repository"} {
			p := refused(t, 422, "invalid", d.call("POST", "/v1/tasks", d.OwnerToken, d.taskBody(member, `"\u2003\t\n"`)))
			require.Equal(t, "$."+member, p.Path)
		}
	})
	t.Run("body", func(t *testing.T) {
		t.Parallel()
		body := d.taskBody("goal", `"g"`)
		body = append(body, bytes.Repeat([]byte(" "), 1<<20-len(body))...)
		apitest.Into[workflow.Task](t, 201, d.call("POST", "/v1/tasks", d.OwnerToken, body))
		refused(t, 413, "too_large", d.call("POST", "/v1/tasks", d.OwnerToken, append(body, ' ')))
	})
}

func TestQueryLimits(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	base := "/v1/tasks?project_id=" + d.Project.ID
	for _, good := range []string{"", "&limit=1", "&limit=100", "&status=open", "&status=refused&limit=7"} {
		list := apitest.Into[workflow.TaskList](t, 200, d.call("GET", base+good, d.OwnerToken, nil))
		require.NotNil(t, list.Tasks)
		require.Nil(t, list.NextAfter)
	}
	require.Contains(t, string(d.call("GET", base, d.OwnerToken, nil).Body), `{"tasks":[],"next_after":null}`)
	for query, path := range map[string]string{
		"&limit=0": "$.limit", "&limit=101": "$.limit", "&limit=-1": "$.limit", "&limit=1.0": "$.limit", "&limit=01": "$.limit",
		"&limit=+1": "$.limit", "&limit=": "$.limit", "&limit=x": "$.limit", "&limit=99999999999999999999": "$.limit", "&limit=1&limit=2": "$.limit",
		"&status=": "$.status", "&status=Open": "$.status", "&status=open&status=open": "$.status",
		"&after=": "$.after", "&after=%00": "$.after", "&after=nonsense": "$.after",
		"&project_id=x": "$.project_id", "&nonsense=1": "$.nonsense", "&Limit=1": "$.Limit", "&limit=%zz": "$", "&a;b": "$",
	} {
		p := refused(t, 422, "invalid", d.call("GET", base+query, d.OwnerToken, nil))
		require.Equal(t, path, p.Path, query)
	}
	for _, missing := range []string{"/v1/tasks", "/v1/tasks?project_id=", "/v1/tasks?project_id=%ff", "/v1/tasks?project_id=%00"} {
		p := refused(t, 422, "invalid", d.call("GET", missing, d.OwnerToken, nil))
		require.Equal(t, "$.project_id", p.Path)
	}
	task := d.AddTask(t)
	_, err := d.Dispatch(t, d.Spec(task), time.Minute, time.Minute)
	require.NoError(t, err)
	for query, path := range map[string]string{
		"after=-1": "$.after", "after=1073741825": "$.after", "limit=0": "$.limit", "limit=101": "$.limit", "limit=1&limit=1": "$.limit", "x=1": "$.x",
	} {
		p := refused(t, 422, "invalid", d.call("GET", "/v1/tasks/"+task.ID+"/workflow?"+query, d.OwnerToken, nil))
		require.Equal(t, path, p.Path, query)
	}
	for query, path := range map[string]string{"wait=31": "$.wait", "wait=-1": "$.wait", "wait=1.5": "$.wait"} {
		p := refused(t, 422, "invalid", d.call("GET", "/bridge/v1/executions?"+query, d.NodeToken, nil))
		require.Equal(t, path, p.Path, query)
	}
}

// A body that is far too large is refused at once, also to a client that sends all of it first.
func TestHugeBodies(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	for name, size := range map[string]int{"3 MiB": 3 << 20, "20 MiB": 20 << 20} {
		for how, prepare := range map[string]func(*http.Request){
			"with its length":    func(*http.Request) {},
			"without its length": func(r *http.Request) { r.ContentLength = -1; r.Body = io.NopCloser(r.Body) },
			"asking first":       func(r *http.Request) { r.Header.Set("Expect", "100-continue") },
			"without a token":    func(r *http.Request) { r.Header.Del("Authorization") },
		} {
			t.Run(name+" "+how, func(t *testing.T) {
				t.Parallel()
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				defer cancel()
				req, err := http.NewRequestWithContext(ctx, "POST", d.url+"/v1/tasks", bytes.NewReader(bytes.Repeat([]byte(" "), size)))
				require.NoError(t, err)
				req.Header.Set("Authorization", "Bearer "+d.OwnerToken)
				req.Header.Set("Content-Type", "application/json")
				prepare(req)
				a := do(t, req)
				if req.Header.Get("Authorization") == "" {
					refused(t, 401, "unauthenticated", a)
					return
				}
				require.Contains(t, refused(t, 413, "too_large", a).Detail, "1 MiB")
			})
		}
	}
	var n int
	require.NoError(t, d.Pool.QueryRow(t.Context(), `SELECT count(*) FROM tasks`).Scan(&n))
	require.Zero(t, n)
}

func TestTexts(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	for name, raw := range map[string]string{
		"U+0000": `"a\u0000b"`, "a lone high surrogate": `"\ud83d"`, "a lone low surrogate": `"\udc00x"`,
		"invalid UTF-8": "\"a\xc3(\"", "a surrogate in UTF-8": "\"\xed\xa0\x80\"", "overlong": "\"\xc0\x80\"",
	} {
		for _, member := range []string{"title", "goal", "repository"} {
			p := refused(t, 422, "invalid", d.call("POST", "/v1/tasks", d.OwnerToken, d.taskBody(member, raw)))
			require.Equal(t, "$."+member, p.Path, name)
		}
		p := refused(t, 422, "invalid", d.call("POST", "/v1/tasks", d.OwnerToken, d.taskBody("labels", "["+raw+"]")))
		require.Equal(t, "$.labels[0]", p.Path, name)
		p = refused(t, 422, "invalid", d.call("PATCH", "/v1/nodes/"+d.Node.ID, d.OwnerToken, []byte(`{"note":`+raw+`}`)))
		require.Equal(t, "$.note", p.Path, name)
	}
	for name, text := range map[string]string{
		"six characters": `\u0000`, "NFD": "e\u0301 u\u0308", "NFC": "é ü", "right to left": "a\u202eb", "beyond the BMP": "😀\U0010ffff",
		"control characters": "a\u0001\u001f\u007f\u0085\t\r\nb", "HTML": `<script>&amp;"'</script>`, "line separators": "a\u2028\u2029b",
		"noncharacters": "\ufffe\uffff\ufffd", "byte order mark": "\ufeffa", "edges": " a ",
	} {
		raw, err := json.Marshal(text)
		require.NoError(t, err)
		made := apitest.Into[workflow.Task](t, 201, d.call("POST", "/v1/tasks", d.OwnerToken, d.taskBody("goal", string(raw))))
		require.Equal(t, text, made.Goal, name)
		read := apitest.Into[workflow.Task](t, 200, d.call("GET", "/v1/tasks/"+made.ID, d.OwnerToken, nil))
		require.Equal(t, text, read.Goal, name)
		node := apitest.Into[workflow.Node](t, 200, d.call("PATCH", "/v1/nodes/"+d.Node.ID, d.OwnerToken, workflow.PatchNode{Note: &text}))
		require.Equal(t, text, node.Note, name)
	}
}

func TestTimesAreUTC(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	for _, zone := range []string{"UTC", "Asia/Kathmandu", "America/St_Johns"} {
		u, err := url.Parse(d.URL)
		require.NoError(t, err)
		q := u.Query()
		q.Set("timezone", zone) // as PGTZ does for a session
		u.RawQuery = q.Encode()
		s, err := store.Open(t.Context(), store.Options{URL: u.String(), MaxConns: 2})
		require.NoError(t, err)
		t.Cleanup(s.Close)
		_, base := d.serve(t, api.Options{Store: s})
		a := apitest.Call(t, "POST", base, "/v1/tasks", d.OwnerToken, d.taskBody("title", `"t"`))
		made := apitest.Into[map[string]any](t, 201, a)
		for _, member := range []string{"created_at", "updated_at"} {
			require.Regexp(t, `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z$`, made[member])
			at, err := time.Parse(time.RFC3339Nano, made[member].(string))
			require.NoError(t, err)
			require.WithinDuration(t, time.Now(), at, time.Minute)
		}
		nodes := apitest.Call(t, "GET", base, "/v1/nodes", d.OwnerToken, nil)
		require.Regexp(t, `"created_at":"[^"+]+Z"`, string(nodes.Body), zone)
	}
}
