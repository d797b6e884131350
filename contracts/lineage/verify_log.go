// The log: read in order, its signatures checked on all cores.

package lineage

import (
	"bufio"
	"crypto/sha256"
	"io"

	"countersign/contracts/artifact"
)

// record is one line as it was read.
type record struct {
	position int64
	want     Receipt // the receipt this line would make; its TaskID is "" for an attachment
	parents  []string
	chain    string // format v 2
	signed   []byte // what the sidecar's signature covers
	sealed   []byte // what the operator's HMAC covers
	seal     string
	sidecar  string // path
	pathKey  [sha256.Size]byte
	faults   []string
	readable bool
}

// owner says whose line it is.
func (r *record) owner() string {
	if r.want.TaskID != "" {
		return "task " + r.want.TaskID
	}
	if r.want.Kind == Attachment {
		return "attachment " + r.want.ContentHash
	}
	return clip(r.want.ArtefactPath)
}

// ofAnother names a cause that does not lie with the task.
func (r *record) ofAnother(task string) string {
	return "which belongs to " + r.owner() + " and not to task " + task
}

// isOf reports whether it is a line of the task.
func (r *record) isOf(task string) bool { return r.readable && r.want.TaskID == task }

// readLog goes through the whole log.
func (v *verification) readLog() {
	v.tip = EmptyTip()
	f, err := openFile(v.tree, LogPath)
	if err != nil {
		v.failures.add("%s: %s", LogPath, sentence(err))
		return
	}
	defer f.Close()
	in := bufio.NewReaderSize(&cancellable{v.ctx, f}, maxRead)
	v.order = v.format.newOrder()
	// While one batch is being checked, the next is read and the one before put in order.
	batch, err := v.nextBatch(in)
	for checked := v.startCheck(batch); ; {
		var following []rawLine
		ended := err
		if ended == nil {
			following, err = v.nextBatch(in)
		}
		checked.Wait()
		checked = v.startCheck(following)
		for _, line := range batch {
			v.inOrder(line.record)
		}
		if batch = following; ended != nil {
			if ended != io.EOF {
				v.failures.add("%s: %s", LogPath, sentence(ended))
			}
			return
		}
	}
}

func (v *verification) check(line rawLine) *record {
	if line.fault != "" {
		return &record{faults: []string{line.fault}}
	}
	r, err := v.format.parse(line.data)
	if err != nil {
		return &record{faults: []string{sentence(err)}}
	}
	r.readable = true
	r.pathKey = sha256.Sum256([]byte(r.want.ArtefactPath))
	if fault := sealFault(v.secret, r.sealed, r.seal); fault != "" {
		r.faults = append(r.faults, fault)
	}
	if !v.grounding || v.grounds.names(r) {
		if fault := v.signatureFault(r); fault != "" {
			r.faults = append(r.faults, fault)
		}
	}
	r.signed, r.sealed = nil, nil
	return r
}

func (v *verification) signatureFault(r *record) string {
	jws, err := readSmall(v.tree, r.sidecar, MaxLine)
	if err != nil {
		return r.sidecar + " " + sentence(err)
	}
	keys := v.cards[signerID{r.want.AgentID, r.want.AgentCardKID}]
	if err := VerifyDetached(v.format.sidecar(string(jws)), r.want.AgentCardKID, r.signed, keys); err != nil {
		return r.sidecar + ": " + err.Error()
	}
	return ""
}

// inOrder checks what depends on the lines before, and notes what is asked for.
func (v *verification) inOrder(r *record) {
	v.tip.Entries++
	if r == nil { // the context ended
		return
	}
	r.position = v.tip.Entries
	if r.readable {
		r.faults = append(r.faults, v.order.place(r)...)
		v.tip.Chain = r.chain
	}
	whose := ""
	if r.readable && !r.isOf(v.task) {
		whose = ", " + r.ofAnother(v.task)
	}
	for _, fault := range r.faults {
		v.failures.add("%s line %d%s: %s", LogPath, r.position, whose, fault)
	}
	if !r.readable {
		return
	}
	if r.isOf(v.task) {
		v.own = r
	}
	if v.receipt != nil && r.want.EntryHash == v.receipt.EntryHash {
		v.named = r
	}
	v.grounds.offer(r)
}

// checkHead holds the head to its signature and to the log's end.
func (v *verification) checkHead() {
	data, err := readSmall(v.tree, HeadPath, MaxLine)
	if err != nil {
		v.failures.add("%s: %s", HeadPath, sentence(err))
		return
	}
	head, err := ParseHead(data)
	if err != nil {
		v.failures.add("%s: %s", HeadPath, sentence(err))
		return
	}
	for _, fault := range head.Verify(v.cards[signerID{AgentID, KeyID}], v.secret) {
		v.failures.add("%s: %s", HeadPath, fault)
	}
	switch tip := head.Tip(); {
	case tip.Entries > v.tip.Entries:
		v.failures.add("%s: it counts %d entries and the log has %d: lines were removed", HeadPath, tip.Entries, v.tip.Entries)
	case tip.Entries < v.tip.Entries:
		v.failures.add("%s: it counts %d entries and the log has %d: the head is behind", HeadPath, tip.Entries, v.tip.Entries)
	case tip.Chain != v.tip.Chain:
		v.failures.add("%s: its chain is not that of the log's last line", HeadPath)
	}
}

// taskOfPath is the task whose artefact_path it is, "" for another path.
func taskOfPath(path string) string {
	if len(path) <= len(artifactsPrefix)+len(artifactSuffix) {
		return ""
	}
	task := path[len(artifactsPrefix) : len(path)-len(artifactSuffix)]
	if artifact.CheckTaskID(task) != nil || ArtifactPath(task) != path {
		return ""
	}
	return task
}
