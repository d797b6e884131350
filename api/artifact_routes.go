// The deliverable of a task that ends in an artifact: handing it in, and reading the candidate.

package api

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"

	"countersign/contracts"
	"countersign/contracts/artifact"
	"countersign/contracts/workflow"
	"countersign/store"
)

// uploadArtifact canonicalises what a running worker hands in, judges the declared criteria on the
// canonical bytes and keeps both; the step that ends the attempt only reads them. Bytes without a
// canonical form are kept as that finding, for the last upload counts, and refused.
func (a *API) uploadArtifact(c *call) (workflow.Upload, error) {
	e, err := a.own(c)
	if err != nil {
		return workflow.Upload{}, err
	}
	if err := a.holds(c, e); err != nil {
		return workflow.Upload{}, err
	}
	if refusal := e.Attempt.Uploads(c.fence, e.Now); refusal != nil {
		return workflow.Upload{}, refusal
	}
	spec, err := a.store.Declared(c, e.Attempt.ExecutionID)
	if err != nil {
		return workflow.Upload{}, err
	}
	if !workflow.ArtifactMode(e.ArtifactKind) {
		return workflow.Upload{}, contracts.Refuse(contracts.CodeStateConflict, "the task ends in a commit and has no artifact")
	}
	spool, err := spool()
	if err != nil {
		return workflow.Upload{}, err
	}
	defer spool.Close()
	up, rejection, err := a.judge(c, e.ProjectID, spec, spool)
	if err != nil {
		return workflow.Upload{}, err
	}
	blob := store.Blob{ContentHash: up.ContentHash, Bytes: up.Bytes, Content: spool}
	if err := a.store.SaveUpload(c, e.Attempt.ExecutionID, c.fence, up, blob); err != nil {
		return workflow.Upload{}, err
	}
	if rejection != nil {
		return workflow.Upload{}, rejection
	}
	return up, nil
}

// judge leaves the canonical bytes of the upload in the spool. The rejection says that there are none.
func (a *API) judge(c *call, projectID string, spec artifact.Spec, spool *os.File) (up workflow.Upload, rejection *artifact.Rejection, err error) {
	canonical, err := artifact.Canonicalise(spec.Kind, c.upload, spool)
	if errors.As(err, &rejection) {
		return workflow.Upload{Criteria: []artifact.Result{}, Rejection: rejection.Error()}, rejection, nil
	}
	if err != nil {
		return up, nil, err
	}
	up = workflow.Upload{ContentHash: canonical.ContentHash, Bytes: canonical.Bytes}
	if _, err = spool.Seek(0, io.SeekStart); err != nil {
		return up, nil, err
	}
	resolve, failed := a.store.Grounds(c, projectID)
	if up.Criteria, err = artifact.Evaluate(spec.Kind, spool, spec.Criteria, resolve); err != nil {
		return up, nil, err
	}
	return up, nil, failed()
}

// spool is a file for bytes on their way, which has no name and goes away when it is closed.
func spool() (*os.File, error) {
	f, err := os.CreateTemp("", "countersign-*")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// attach records raw bytes for a project, so that reports can anchor figures to them.
func (a *API) attach(c *call) (workflow.LineageEntry, error) {
	return a.attachTo(c, func(content store.Blob) (workflow.LineageEntry, error) {
		return a.store.Attach(c, c.who.User, c.param("id"), content)
	})
}

// attachFor is attach for the node that runs an attempt of the project.
func (a *API) attachFor(c *call) (workflow.LineageEntry, error) {
	e, err := a.own(c)
	if err != nil {
		return workflow.LineageEntry{}, err
	}
	if err := a.holds(c, e); err != nil {
		return workflow.LineageEntry{}, err
	}
	return a.attachTo(c, func(content store.Blob) (workflow.LineageEntry, error) {
		return a.store.AttachFor(c, e.Attempt.ExecutionID, c.fence, content)
	})
}

func (a *API) attachTo(c *call, record func(store.Blob) (workflow.LineageEntry, error)) (workflow.LineageEntry, error) {
	spool, err := spool()
	if err != nil {
		return workflow.LineageEntry{}, err
	}
	defer spool.Close()
	hash := sha256.New()
	size, err := io.Copy(io.MultiWriter(spool, hash), c.upload)
	if err != nil {
		return workflow.LineageEntry{}, err
	}
	return record(store.Blob{ContentHash: "sha256:" + hex.EncodeToString(hash.Sum(nil)), Bytes: size, Content: spool})
}

// candidate answers with the artifact that the attempt is to verify or to correct, byte for byte.
func (a *API) candidate(c *call) (content, error) {
	e, err := a.own(c)
	if err != nil {
		return content{}, err
	}
	if err := a.holds(c, e); err != nil {
		return content{}, err
	}
	hash, err := a.store.CandidateHash(c, e.Attempt.ExecutionID)
	if err != nil {
		return content{}, err
	}
	if hash == "" {
		return content{}, contracts.Refuse(contracts.CodeNotFound, "the attempt has no artifact to start from")
	}
	return a.blob(c, hash)
}

// artifact answers with what a task was accepted on.
func (a *API) artifact(c *call) (content, error) {
	hash, err := a.store.ArtifactOf(c, c.who.User, c.param("id"))
	if err != nil {
		return content{}, err
	}
	return a.blob(c, hash)
}

// attachment answers with what was attached.
func (a *API) attachment(c *call) (content, error) {
	hash, err := a.store.Attachment(c, c.who.User, c.param("id"), c.param("content_hash"))
	if err != nil {
		return content{}, err
	}
	return a.blob(c, hash)
}

// blob is written after the call has ended, so that the call's own time does not bound it.
func (a *API) blob(c *call, hash string) (content, error) {
	bytes, size, err := a.store.OpenBlob(c.gin.Request.Context(), hash)
	return content{bytes, size}, err
}

func (a *API) lineage(c *call) (workflow.LineagePage, error) {
	return a.store.Lineage(c, c.who.User, c.param("id"), c.query.ints["after"], c.query.ints["limit"])
}

// holds refuses a call that does not come from the living lease's holder.
func (a *API) holds(c *call, e store.Execution) error {
	if refusal := e.Attempt.HeldOff(c.fence); refusal != nil {
		return refusal
	}
	if e.Attempt.Expired(e.Now) {
		return a.expire(c, e)
	}
	return nil
}
