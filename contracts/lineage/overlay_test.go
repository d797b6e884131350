// A tree with some files replaced.

package lineage_test

import (
	"io/fs"
	"testing/fstest"
)

// overlay is a file system in which some files have other bytes.
type overlay struct {
	fs.FS
	files map[string][]byte
}

// Open opens a replaced file, or the one below.
func (o overlay) Open(name string) (fs.File, error) {
	if data, ok := o.files[name]; ok {
		return fstest.MapFS{name: {Data: data}}.Open(name)
	}
	return o.FS.Open(name)
}
