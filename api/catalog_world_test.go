// A Git repository and the catalog that names its documents, for tests of dispatch by catalog.

package api_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"countersign/api/apitest"
	"countersign/contracts/workflow"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// gitRepository is a repository that tests write to and the server reads.
type gitRepository struct {
	t   testing.TB
	dir string
}

func newRepository(t testing.TB) *gitRepository {
	t.Helper()
	r := &gitRepository{t, t.TempDir()}
	r.git("init", "--quiet", "--initial-branch=main")
	return r
}

func (r *gitRepository) git(args ...string) string {
	r.t.Helper()
	c := exec.Command("git", args...)
	c.Dir = r.dir
	c.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + r.dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@t",
		"GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@t",
	}
	out, err := c.CombinedOutput()
	require.NoError(r.t, err, "git %v: %s", args, out)
	return strings.TrimSpace(string(out))
}

func (r *gitRepository) write(path, content string) {
	r.t.Helper()
	at := filepath.Join(r.dir, path)
	require.NoError(r.t, os.MkdirAll(filepath.Dir(at), 0o700))
	require.NoError(r.t, os.WriteFile(at, []byte(content), 0o600))
}

// commit commits all there is and returns the commit.
func (r *gitRepository) commit() string {
	r.t.Helper()
	r.git("add", "--all")
	r.git("commit", "--quiet", "--allow-empty", "--message", "m")
	return r.git("rev-parse", "HEAD")
}

// catalog is a stack with a repository and two agents made of its documents.
type catalog struct {
	*apitest.Stack
	t                testing.TB
	repository       *gitRepository
	commit           string
	sources          map[string]workflow.Source // by path
	worker, verifier workflow.Agent
}

var (
	workerDefinition = workflow.AgentDefinition{
		Role: workflow.AgentRole{Heartbeat: "agents/worker/heartbeat.md", Instructions: "agents/worker/instructions.md"},
		Soul: "agents/worker/soul.md", Provider: "none", Runtime: workflow.RuntimeSynthetic, Reasoning: "high",
		Skills: []workflow.AgentSkill{{ID: "go", Version: workflow.StringVersion("2"), Ref: "skills/go.md"}},
	}
	verifierDefinition = workflow.AgentDefinition{Role: workflow.AgentRole{Heartbeat: "agents/verifier.md"}, Runtime: workflow.RuntimeSynthetic}
)

// newCatalog prepares a stack; more writes to the repository before the first commit.
func newCatalog(t testing.TB, more func(*gitRepository)) *catalog {
	t.Helper()
	c := &catalog{t: t, repository: newRepository(t), sources: map[string]workflow.Source{}}
	for _, d := range append(workerDefinition.Documents(), verifierDefinition.Documents()...) {
		c.repository.write(d.Ref, "This is "+d.Ref+".\n")
	}
	if more != nil {
		more(c.repository)
	}
	c.commit = c.repository.commit()
	c.Stack = apitest.New(t, apitest.Options{Mirrors: map[string]string{"https://example.test/demo.git": c.repository.dir}})
	for _, d := range append(workerDefinition.Documents(), verifierDefinition.Documents()...) {
		c.allow(d.Ref)
	}
	c.worker, c.verifier = c.agent("worker", "1", workerDefinition), c.agent("verifier", "1", verifierDefinition)
	return c
}

func (c *catalog) allow(path string) workflow.Source {
	c.t.Helper()
	c.sources[path] = apitest.Into[workflow.Source](c.t, 201, c.Operator("POST", "/v1/projects/"+c.Project.ID+"/sources", workflow.AddSource{Path: path}))
	return c.sources[path]
}

func (c *catalog) revoke(path string) apitest.Answer {
	c.t.Helper()
	return c.Operator("POST", "/v1/projects/"+c.Project.ID+"/sources/"+c.sources[path].ID+"/revoke", workflow.RevokeSource{})
}

func (c *catalog) agent(name, version string, d workflow.AgentDefinition) workflow.Agent {
	c.t.Helper()
	a := apitest.Into[workflow.Agent](c.t, 201, c.Operator("POST", "/v1/agents", workflow.CreateAgent{ProjectID: c.Project.ID, Name: name}))
	c.version(a.ID, version, d)
	return a
}

func (c *catalog) version(agentID, version string, d workflow.AgentDefinition) workflow.AgentVersion {
	c.t.Helper()
	return apitest.Into[workflow.AgentVersion](c.t, 201, c.Operator("POST", "/v1/agents/"+agentID+"/versions",
		workflow.AddAgentVersion{Version: workflow.StringVersion(version), AgentDefinition: d}))
}

func (c *catalog) status(agentID, version string, s workflow.AgentStatus) {
	c.t.Helper()
	apitest.Into[workflow.AgentVersion](c.t, 200, c.Operator("PATCH", "/v1/agents/"+agentID+"/versions/"+version, workflow.PatchAgentVersion{Status: s}))
}

// profile pins a version with the sources of all its references at the catalog's commit.
func (c *catalog) profile(agentID, version string, d workflow.AgentDefinition) workflow.CatalogProfile {
	p := workflow.CatalogProfile{AgentID: agentID, Version: workflow.StringVersion(version)}
	for _, document := range d.Documents() {
		p.Sources = append(p.Sources, workflow.CatalogSource{Ref: document.Ref, SourceID: c.sources[document.Ref].ID, CommitSHA: c.commit})
	}
	return p
}

// request is a valid dispatch of a task to a node under a new key.
func (c *catalog) request(task workflow.Task, nodeID string) workflow.CatalogRequest {
	s := c.Spec(task)
	r := workflow.CatalogRequest{WriteContext: c.WriteContext(), Spec: workflow.CatalogSpec{
		Assignment: s.Assignment, Profile: c.profile(c.worker.ID, "1", workerDefinition), Verifier: c.profile(c.verifier.ID, "1", verifierDefinition),
	}}
	r.Spec.BridgeID, r.Spec.IdempotencyKey = nodeID, uuid.NewString()
	r.Spec.Profile.AllowWorkspaceWrites = true
	return r
}

func (c *catalog) dispatch(r workflow.CatalogRequest) apitest.Answer {
	c.t.Helper()
	return c.Operator("POST", "/v1/workflows/catalog", r)
}
