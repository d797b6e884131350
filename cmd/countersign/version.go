// countersign version.

package main

import "runtime/debug"

// version is set by the linker where there is no version control to stamp one, as in the image.
var version string

type versionCommand struct{}

// Run prints what this program was built from.
func (versionCommand) Run(s *session) error {
	v := programVersion()
	return s.print(struct {
		Version string `json:"version"`
	}{v}, func() error {
		s.out.Println("countersign " + v)
		return nil
	})
}

// programVersion is the linker's version, else what the Go tool stamped: a tag, a commit's pseudo
// version, or "(devel)" for a build outside version control.
func programVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
