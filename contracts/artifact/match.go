// criteria_match: a closed set of predicates over the JSON document.

package artifact

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// newMatchJudge reads a non-empty list of predicates, all of which must hold.
func newMatchJudge(value string, inRows bool) judge {
	predicates, err := parsePredicates(value)
	if err != nil {
		return undecided{err.Error()}
	}
	j := make(matchJudge, len(predicates))
	for i, p := range predicates {
		j[i] = &match{predicate: p, inRows: inRows}
	}
	return j
}

type matchJudge []*match

func (j matchJudge) wants(nth int64) bool {
	return slices.ContainsFunc(j, func(m *match) bool { return m.wants(nth) })
}

func (j matchJudge) see(p part) {
	for _, m := range j {
		if m.wants(p.row) {
			m.see(p)
		}
	}
}

func (j matchJudge) verdict(e evidence) (bool, string) {
	if e.fault != "" {
		return false, e.fault
	}
	var failed []string
	for i, m := range j {
		if !m.holds() {
			failed = append(failed, fmt.Sprintf("predicate %d does not hold: %s%s", i, m.predicate, m.instead()))
		}
	}
	if failed != nil {
		return false, strings.Join(failed, "; ")
	}
	return true, fmt.Sprintf("predicates that hold: %d", len(j))
}

// match decides one predicate. The document of rows is the list of them, which is never in memory as
// a whole: a path that goes into it names one row, and about the list itself it is enough to compare
// row by row.
type match struct {
	predicate
	inRows bool

	found  bool  // the path leads somewhere
	result bool  // what the operator says about it
	actual any   // a scalar that is there
	rows   int64 // compared so far
	member bool  // one of them is the predicate's value
	differ bool  // one of them is not the item that the predicate's value has in its place
}

// aboutList reports whether the path names the list of rows itself.
func (m *match) aboutList() bool { return m.inRows && len(m.path) == 0 }

func (m *match) wants(nth int64) bool {
	switch {
	case !m.inRows:
		return true
	case m.aboutList():
		return m.op == opEq || m.op == opNe || m.op == opContains
	}
	row, ok := listIndex(m.path[0])
	return ok && row == nth
}

func (m *match) see(p part) {
	if m.aboutList() {
		list, _ := m.value.([]any)
		m.member = m.member || equal(p.value, m.value)
		m.differ = m.differ || p.row >= int64(len(list)) || !equal(p.value, list[p.row])
		m.rows++
		return
	}
	path := m.path
	if m.inRows {
		path = path[1:]
	}
	if value, ok := lookup(p.value, path); ok {
		m.found, m.result = true, m.op.holds(value, m.value)
		switch value.(type) {
		case map[string]any, []any:
		default:
			m.actual = value
		}
	}
}

func (m *match) holds() bool {
	if !m.aboutList() {
		return m.op == opExists && m.found == m.present || m.result
	}
	list, isList := m.value.([]any)
	same := isList && !m.differ && m.rows == int64(len(list))
	switch m.op {
	case opExists:
		return m.present
	case opEq:
		return same
	case opNe:
		return !same
	}
	return m.op == opContains && m.member
}

// instead says what is there of a predicate that does not hold.
func (m *match) instead() string {
	switch {
	case m.aboutList() || m.op == opExists:
		return ""
	case !m.found:
		return ", for nothing is there"
	case m.actual == nil:
		return ""
	}
	return ", for it is " + literal(m.actual)
}

// lookup follows a path: keys of objects, and indexes of lists from 0.
func lookup(value any, path []string) (any, bool) {
	for _, segment := range path {
		switch container := value.(type) {
		case map[string]any:
			next, ok := container[segment]
			if !ok {
				return nil, false
			}
			value = next
		case []any:
			i, ok := listIndex(segment)
			if !ok || i >= int64(len(container)) {
				return nil, false
			}
			value = container[i]
		default:
			return nil, false
		}
	}
	return value, true
}

// listIndex reads 0 or a number without a leading zero. One beyond int64 indexes nothing.
func listIndex(segment string) (int64, bool) {
	if segment == "" || strings.Trim(segment, "0123456789") != "" || segment[0] == '0' && segment != "0" {
		return 0, false
	}
	i, err := strconv.ParseInt(segment, 10, 64)
	return i, err == nil
}
