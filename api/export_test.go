package api

import (
	"maps"
	"regexp"
	"slices"
)

// Polls is how many long polls wait.
func Polls(a *API) int {
	a.hub.mu.Lock()
	defer a.hub.mu.Unlock()
	n := 0
	for _, polls := range a.hub.polls {
		n += len(polls)
	}
	return n
}

// Served are all routes that the server answers, as "METHOD /path/{param}".
func Served(a *API) (out []string) {
	for _, r := range a.engine.Routes() {
		out = append(out, r.Method+" "+regexp.MustCompile(`:(\w+)`).ReplaceAllString(r.Path, "{$1}"))
	}
	return out
}

// Named are all routes that have a name.
func Named() []string { return slices.Collect(maps.Keys(operations)) }
