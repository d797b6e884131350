// A backlog file: Markdown with YAML frontmatter, one task.

package planning

import (
	"bytes"
	"strings"

	"countersign/contracts"
	"countersign/contracts/tree"
)

// ParseBacklog reads a backlog file: YAML frontmatter {title, role?, labels?, artifact_spec?}, closed,
// between two lines of ---, then the goal in Markdown, whose default is the title. Line ends of the body
// become LF; blank lines before it and white space behind it are cut. A role becomes the label "role:…".
// The entry's mark is that of its content: Distinguish tells files of the same content apart. The error
// is a *contracts.Error of code invalid whose path names the fault ("artifact_spec.kind"), "body" the
// goal, "frontmatter" the block as a whole, and "" the file.
func ParseBacklog(data []byte) (Entry, error) {
	entry, refusal := parseBacklog(data)
	if refusal != nil {
		return Entry{}, refusal
	}
	return entry, nil
}

func parseBacklog(data []byte) (Entry, *contracts.Error) {
	if len(data) > MaxBytes {
		return Entry{}, contracts.Invalid("", "a backlog file has at most %d bytes", MaxBytes)
	}
	if err := tree.CheckText(data, ""); err != nil {
		return Entry{}, err
	}
	front, body, err := cutFrontmatter(data)
	if err != nil {
		return Entry{}, err
	}
	n, err := tree.ReadYAML(front, "")
	if err != nil {
		return Entry{}, inFrontmatter(err)
	}
	d := draft{surface: "backlog"}
	if err := d.read(n, "title", "role", "labels", "artifact_spec"); err != nil {
		return Entry{}, inFrontmatter(err)
	}
	if d.goal = (field{body, "body"}); body == "" {
		d.goal = d.title
	}
	return d.entry()
}

// inFrontmatter names the block where the fault is in no field of it.
func inFrontmatter(err *contracts.Error) *contracts.Error {
	if err.Path == "" {
		err.Path = "frontmatter"
	}
	return err
}

// cutFrontmatter separates the block, its opening line included so that the parser counts lines as the
// file does, from the goal.
func cutFrontmatter(data []byte) (front []byte, goal string, err *contracts.Error) {
	opening, rest, _ := bytes.Cut(data, []byte{'\n'})
	if !fence(opening) {
		return nil, "", contracts.Invalid("frontmatter", "is missing: the first line must be ---")
	}
	for at := len(data) - len(rest); len(rest) > 0; at = len(data) - len(rest) {
		var line []byte
		if line, rest, _ = bytes.Cut(rest, []byte{'\n'}); fence(line) {
			return data[:at], goalOf(string(rest)), nil
		}
	}
	return nil, "", contracts.Invalid("frontmatter", "does not end: no line is --- after the first")
}

// fence reports whether a line opens or closes the frontmatter.
func fence(line []byte) bool { return string(bytes.TrimRight(line, " \t\r")) == "---" }

// goalOf cuts what is around a body, but not the indentation of its first line.
func goalOf(body string) string {
	body = strings.TrimRight(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(body), " \t\n")
	for {
		line, rest, more := strings.Cut(body, "\n")
		if !more || strings.Trim(line, " \t") != "" {
			return body
		}
		body = rest
	}
}
