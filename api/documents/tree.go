// Git's tree objects.

package documents

import (
	"bytes"
	"encoding/hex"
)

// Modes of entries, as trees spell them.
const (
	modeTree    = "40000"
	modeFile    = "100644"
	modeProgram = "100755"
	modeLink    = "120000"
)

// entry is one name in a tree; the zero entry is none.
type entry struct{ mode, name, id string }

// parseTree reads "MODE NAME NUL ID" with an id of 20 bytes, again and again; ok is false for anything else.
func parseTree(data []byte) (entries []entry, ok bool) {
	const idBytes = 20
	for len(data) > 0 {
		head, rest, found := bytes.Cut(data, []byte{0})
		mode, name, spaced := bytes.Cut(head, []byte{' '})
		if !found || !spaced || len(rest) < idBytes {
			return nil, false
		}
		entries = append(entries, entry{string(mode), string(name), hex.EncodeToString(rest[:idBytes])})
		data = rest[idBytes:]
	}
	return entries, true
}
