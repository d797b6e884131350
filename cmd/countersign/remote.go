// Which server a command talks to, as whom, and about which project.

package main

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"countersign/api/client"
	"countersign/cmd/countersign/internal/devfile"
)

// remote is the server a command was given or found.
type remote struct {
	*client.Client
	// dev describes the server when it is this directory's development server, which keeps its data in
	// dataDir.
	dev     *devfile.File
	dataDir string
}

// remote takes flags and environment first, then the nearest dev.json. That file's token is never
// sent to another server than its own.
func (s *session) remote() (remote, error) {
	server, token := s.cli.Server, s.cli.Token
	dev, dataDir, err := devfile.Find(".")
	switch {
	case err == nil && (server == "" || sameServer(server, dev.URL)):
		if token != "" {
			dev.OperatorToken = token
		}
		return devRemote(dev, dataDir), nil
	case server == "" && errors.Is(err, devfile.ErrNone):
		return remote{}, fmt.Errorf("no server is named (--server, COUNTERSIGN_URL) and %w", err)
	case server == "":
		return remote{}, err
	}
	if u, err := url.Parse(server); err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return remote{}, usageError{fmt.Errorf("--server %q is not an http or https URL", server)}
	}
	return remote{Client: client.New(server, token)}, nil
}

// devRemote is a development server, as its operator.
func devRemote(dev devfile.File, dataDir string) remote {
	return remote{client.New(dev.URL, dev.OperatorToken), &dev, dataDir}
}

func sameServer(a, b string) bool {
	return strings.TrimRight(a, "/") == strings.TrimRight(b, "/")
}

// projectFlag is the project that a command is about.
type projectFlag struct {
	Project string `env:"COUNTERSIGN_PROJECT" placeholder:"ID" help:"The project. Default: the development server's demo project."`
}

// remote is the server and the project of it that is meant.
func (f projectFlag) remote(s *session) (remote, string, error) {
	r, err := s.remote()
	switch {
	case err != nil:
		return r, "", err
	case f.Project != "":
		return r, f.Project, nil
	case r.dev != nil:
		return r, r.dev.ProjectID, nil
	}
	return r, "", usageError{errors.New("which project? give --project or COUNTERSIGN_PROJECT")}
}
