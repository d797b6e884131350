// The limits and forms of the wire types, at the limit and one over.

package workflow_test

import (
	"os/exec"
	"strings"
	"testing"

	"countersign/contracts"
	"countersign/contracts/workflow"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func ptr[T any](v T) *T { return &v }

func request() *workflow.DispatchRequest {
	profile := func(id string) workflow.Profile {
		return workflow.Profile{ProfileID: id, Version: workflow.StringVersion("1"), Runtime: workflow.RuntimeSynthetic, Instructions: "i"}
	}
	return &workflow.DispatchRequest{
		Spec: workflow.Spec{Profile: profile("w"), Verifier: profile("v"), Assignment: workflow.Assignment{
			TaskID: "t", ExpectedTaskVersion: 1, BridgeID: "b", IdempotencyKey: "k", Workspace: "/w", BaseCommit: strings.Repeat("a1", 20),
			Branch: "main", Prompt: "p",
			Criteria: []workflow.Criterion{{ID: "c", Description: "d", Method: "m"}},
		}},
		WriteContext: workflow.WriteContext{Resource: "r", InstanceID: "i", ProjectID: ptr("p")},
	}
}

func TestSpecLimits(t *testing.T) {
	t.Parallel()
	long := func(n int) string { return strings.Repeat("é", n) } // limits count characters, not bytes
	refs := func(n int) (out []string) {
		for i := range n {
			out = append(out, "docs/"+strings.Repeat("x", i+1))
		}
		return out
	}
	criteria := func(n int) (out []workflow.Criterion) {
		for i := range n {
			out = append(out, workflow.Criterion{ID: strings.Repeat("c", i+1), Description: "d", Method: "m"})
		}
		return out
	}
	for _, c := range []struct {
		name string
		set  func(s *workflow.Spec)
		path string
	}{
		{"as it is", func(*workflow.Spec) {}, ""},
		{"prompt at the limit", func(s *workflow.Spec) { s.Prompt = long(32768) }, ""},
		{"prompt over", func(s *workflow.Spec) { s.Prompt = long(32769) }, "$.spec.prompt"},
		{"prompt blank", func(s *workflow.Spec) { s.Prompt = " \n\u2003\x1c" }, "$.spec.prompt"},
		{"prompt with U+0000", func(s *workflow.Spec) { s.Prompt = "a\x00" }, "$.spec.prompt"},
		{"prompt of zero-width space", func(s *workflow.Spec) { s.Prompt = "\u200b" }, ""},
		{"no task", func(s *workflow.Spec) { s.TaskID = "" }, "$.spec.task_id"},
		{"version 0", func(s *workflow.Spec) { s.ExpectedTaskVersion = 0 }, "$.spec.expected_task_version"},
		{"key at the limit", func(s *workflow.Spec) { s.IdempotencyKey = strings.Repeat("k", 128) }, ""},
		{"key over", func(s *workflow.Spec) { s.IdempotencyKey = strings.Repeat("k", 129) }, "$.spec.idempotency_key"},
		{"key with a space", func(s *workflow.Spec) { s.IdempotencyKey = "a b" }, "$.spec.idempotency_key"},
		{"key with a line end", func(s *workflow.Spec) { s.IdempotencyKey = "a\n" }, "$.spec.idempotency_key"},
		{"relative workspace", func(s *workflow.Spec) { s.Workspace = "w" }, "$.spec.workspace"},
		{"unclean workspace", func(s *workflow.Spec) { s.Workspace = "/w/../x" }, "$.spec.workspace"},
		{"workspace with a slash at the end", func(s *workflow.Spec) { s.Workspace = "/w/" }, "$.spec.workspace"},
		{"workspace at the limit", func(s *workflow.Spec) { s.Workspace = "/" + strings.Repeat("w", 1023) }, ""},
		{"workspace over", func(s *workflow.Spec) { s.Workspace = "/" + strings.Repeat("w", 1024) }, "$.spec.workspace"},
		{"commit of zeros", func(s *workflow.Spec) { s.BaseCommit = strings.Repeat("0", 40) }, "$.spec.base_commit"},
		{"commit in capitals", func(s *workflow.Spec) { s.BaseCommit = strings.Repeat("A1", 20) }, "$.spec.base_commit"},
		{"commit too long", func(s *workflow.Spec) { s.BaseCommit += "a" }, "$.spec.base_commit"},
		{"branch with a dash", func(s *workflow.Spec) { s.Branch = "-x" }, "$.spec.branch"},
		{"no criteria", func(s *workflow.Spec) { s.Criteria = nil }, "$.spec.criteria"},
		{"32 criteria", func(s *workflow.Spec) { s.Criteria = criteria(32) }, ""},
		{"33 criteria", func(s *workflow.Spec) { s.Criteria = criteria(33) }, "$.spec.criteria"},
		{"criterion twice", func(s *workflow.Spec) { s.Criteria = append(s.Criteria, s.Criteria[0]) }, "$.spec.criteria"},
		{"criterion id at the limit", func(s *workflow.Spec) { s.Criteria[0].ID = strings.Repeat("c", 64) }, ""},
		{"criterion id over", func(s *workflow.Spec) { s.Criteria[0].ID = strings.Repeat("c", 65) }, "$.spec.criteria[0].id"},
		{"description at the limit", func(s *workflow.Spec) { s.Criteria[0].Description = long(2000) }, ""},
		{"description over", func(s *workflow.Spec) { s.Criteria[0].Description = long(2001) }, "$.spec.criteria[0].description"},
		{"method blank", func(s *workflow.Spec) { s.Criteria[0].Method = "\t" }, "$.spec.criteria[0].method"},
		{"32 refs", func(s *workflow.Spec) { s.DocumentRefs = refs(32) }, ""},
		{"33 refs", func(s *workflow.Spec) { s.DocumentRefs = refs(33) }, "$.spec.document_refs"},
		{"ref that climbs", func(s *workflow.Spec) { s.DocumentRefs = []string{"ok", "../x"} }, "$.spec.document_refs[1]"},
		{"3 work attempts", func(s *workflow.Spec) { s.MaxWorkAttempts = ptr(3) }, "$.spec.max_work_attempts"},
		{"0 work attempts", func(s *workflow.Spec) { s.MaxWorkAttempts = ptr(0) }, "$.spec.max_work_attempts"},
		{"profile at 60 KiB", func(s *workflow.Spec) { fill(&s.Profile, workflow.MaxProfileBytes) }, ""},
		{"profile over 60 KiB", func(s *workflow.Spec) { fill(&s.Profile, workflow.MaxProfileBytes+1) }, "$.spec.profile"},
		{"verifier over 60 KiB", func(s *workflow.Spec) { fill(&s.Verifier, workflow.MaxProfileBytes+1) }, "$.spec.verifier"},
		{"skill twice", func(s *workflow.Spec) {
			skill := workflow.Skill{ID: "s", Version: workflow.StringVersion("1"), Content: "c"}
			s.Profile.Skills = []workflow.Skill{skill, skill}
		}, "$.spec.profile.skills"},
		{"skill without version", func(s *workflow.Spec) { s.Profile.Skills = []workflow.Skill{{ID: "s", Content: "c"}} }, "$.spec.profile.skills[0].version"},
		{"no profile version", func(s *workflow.Spec) { s.Profile.Version = workflow.Version{} }, "$.spec.profile.version"},
		{"runtime unknown", func(s *workflow.Spec) { s.Profile.Runtime = "bash" }, "$.spec.profile.runtime"},
		{"account for synthetic", func(s *workflow.Spec) { s.Profile.AccountID = "a" }, "$.spec.profile.account_id"},
		{"no account for codex", func(s *workflow.Spec) { s.Profile.Runtime, s.Profile.Model = workflow.RuntimeCodexCLI, "m" }, "$.spec.profile.account_id"},
		{"no model for codex", func(s *workflow.Spec) { s.Profile.Runtime, s.Profile.AccountID = workflow.RuntimeCodexCLI, "a" }, "$.spec.profile.model"},
		{"reasoning unknown", func(s *workflow.Spec) { s.Profile.Reasoning = "extreme" }, "$.spec.profile.reasoning"},
		{"same profile twice", func(s *workflow.Spec) { s.Verifier.ProfileID = s.Profile.ProfileID }, "$.spec.verifier.profile_id"},
		{"verifier that writes", func(s *workflow.Spec) { s.Verifier.AllowWorkspaceWrites = true }, "$.spec.verifier.allow_workspace_writes"},
	} {
		r := request()
		c.set(&r.Spec)
		err := workflow.Validate(r)
		if c.path == "" {
			require.NoError(t, err, c.name)
			continue
		}
		var e *contracts.Error
		require.ErrorAs(t, err, &e, c.name)
		require.Equal(t, contracts.CodeInvalid, e.Code)
		require.Equal(t, c.path, e.Path, c.name)
		require.NotEmpty(t, e.Detail)
	}
}

// fill makes a profile's canonical form exactly n bytes long.
func fill(p *workflow.Profile, n int) {
	p.Instructions = ""
	data, _ := json.Marshal(p)
	p.Instructions = strings.Repeat("i", n-len(data))
}

func TestVersions(t *testing.T) {
	t.Parallel()
	for literal, good := range map[string]bool{
		`"1"`: true, `1`: true, `42`: true, `"2026-01.rc1"`: true, `"` + strings.Repeat("v", 64) + `"`: true,
		`"` + strings.Repeat("v", 65) + `"`: false, `0`: false, `-1`: false, `1.5`: false, `1e2`: false, `true`: false, `[]`: false, `{}`: false, `""`: false, `" "`: false, `null`: false,
	} {
		var p workflow.Profile
		doc := `{"profile_id":"p","version":` + literal + `,"runtime":"synthetic","instructions":"i","allow_workspace_writes":false}`
		err := workflow.Decode([]byte(doc), &p)
		require.Equal(t, good, err == nil, "%s: %v", literal, err)
		if good {
			require.Equal(t, literal, p.Version.String(), "it is frozen as written")
		}
	}
}

func TestBranchNamesAreGits(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"main", "feature/x", "a.b", "é", "x@y", "a-b", "@", "HEAD", "-x", ".x", "x.", "x..y", "x/.y", "x.lock", "x.lock/y", "a b", "a~", "a^", "a:b", "a?", "a*", "a[", `a\b`, "a@{b", "/a", "a/", "a//b", "", "a\x7f", "a\tb", "@/x", "{", "refs/heads/x",
	} {
		// git expands @ and takes HEAD for a name here, and makes a branch of neither.
		checked := name != "HEAD" && name != "@" && exec.Command("git", "check-ref-format", "--branch", name).Run() == nil
		require.Equal(t, checked, workflow.BranchName(name), "%q", name)
	}
}

func TestRelativePathsStayInside(t *testing.T) {
	t.Parallel()
	for path, good := range map[string]bool{
		"a": true, "a/b.json": true, "évidence/1": true, ".countersign/x": true, "a/.git": true, "..a": true, ".github/x": true,
		"": false, ".": false, "..": false, "../a": false, "a/..": false, "a/../b": false, "./a": false, "/a": false, "a/": false, "a//b": false,
		`a\b`: false, "a\nb": false, "a\x00": false, ".git": false, ".git/config": false, ".GIT/x": false,
	} {
		require.Equal(t, good, workflow.RelativePath(path), "%q", path)
	}
}

func TestStringVersionsRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := workflow.StringVersion(rapid.StringN(1, 64, -1).Draw(t, "version"))
		data, err := json.Marshal(v)
		require.NoError(t, err)
		var back workflow.Version
		require.NoError(t, json.Unmarshal(data, &back))
		require.Equal(t, v, back)
	})
}
