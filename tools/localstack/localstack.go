// Package localstack runs the private PostgreSQL and Temporal that
// `countersign dev` and the tests work on: on 127.0.0.1 only, below one
// directory, gone when their owner is gone, and back with the same data after
// any kind of end.
//
// Each server owns a directory with two lock files. owner.lock is held by the
// supervising process, so a second starter is told at once; alive.lock is
// inherited by the server and all its children, so a later start knows whether
// anything of an earlier one still runs, and which processes those are.
package localstack

import (
	"errors"
	"time"
)

// ErrNoPostgres says that no usable PostgreSQL server program was found; the
// wrapping error names what was looked for.
var ErrNoPostgres = errors.New("PostgreSQL's server programs (initdb, postgres) were not found; install them with " +
	"`apt-get install postgresql` (Debian, Ubuntu) or `brew install postgresql@17` (macOS), " +
	"or put their directory on PATH")

// ErrInUse says that another live process runs a server on the directory; the
// wrapping error names the directory and, where known, the process ids.
var ErrInUse = errors.New("directory is in use by another process")

// SearchAttribute is one search attribute of Temporal's default namespace.
type SearchAttribute struct {
	// Name of the attribute as workflows set it.
	Name string
	// Type is one of Text, Keyword, Int, Double, Bool, Datetime, KeywordList.
	Type string
}

// SearchAttributes are those countersign's workflows set; a namespace without
// them refuses to start a revision.
var SearchAttributes = []SearchAttribute{
	{Name: "Phase", Type: "Keyword"},
	{Name: "TaskId", Type: "Keyword"},
	{Name: "ProjectId", Type: "Keyword"},
	{Name: "NodeId", Type: "Keyword"},
	{Name: "Purpose", Type: "Keyword"},
	{Name: "Reason", Type: "Keyword"},
}

const (
	// host is the only address any of the servers listens on.
	host = "127.0.0.1"
	// pollEvery is how often a state of another process is looked at.
	pollEvery = 25 * time.Millisecond
	// startBound is how long a server may take to answer; recovery after a
	// crash under load is the slowest case.
	startBound = 3 * time.Minute
	// portTries bounds how often a server is started again because its free
	// port was taken between choosing and binding it.
	portTries = 10
)
