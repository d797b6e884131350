// The ports of a development server.

package devstack

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"countersign/cmd/countersign/internal/devfile"

	"github.com/go-json-experiment/json"
)

const host = "127.0.0.1"

// checkPorts says early, and by the flag's name, that a wanted port is taken.
func checkPorts(o Options) error {
	for flag, port := range map[string]int{"--port": o.Port, "--temporal-port": o.TemporalPort, "--ui-port": o.UIPort} {
		if port == 0 {
			continue
		}
		l, err := net.Listen("tcp", address(port))
		if err != nil {
			return fmt.Errorf("port %d is taken; choose another with %s, or 0 for a free one: %w", port, flag, err)
		}
		if err := l.Close(); err != nil {
			return err
		}
	}
	return nil
}

func address(port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }

// listen opens the API's port; for 0 last time's when it is free.
func listen(o Options) (net.Listener, error) {
	last := recall(o.Dir)
	if o.Port == 0 && last.API != 0 {
		if l, err := net.Listen("tcp", address(last.API)); err == nil {
			return l, nil
		}
	}
	l, err := net.Listen("tcp", address(o.Port))
	if err != nil {
		return nil, fmt.Errorf("the API's port: %w", err)
	}
	return l, nil
}

// lastUIPort is last time's port of Temporal's UI when it is free, else 0; Temporal's own and
// PostgreSQL's are remembered with their data.
func lastUIPort(dir string) int {
	port := recall(dir).UI
	l, err := net.Listen("tcp", address(port))
	if err != nil {
		return 0
	}
	if err := l.Close(); err != nil {
		return 0
	}
	return port
}

// ports are remembered from one start to the next.
type ports struct {
	API int `json:"api"`
	UI  int `json:"ui"`
}

const portsFile = "ports.json"

// recall is what was remembered, zero when that cannot be read: then other ports will do.
func recall(dir string) ports {
	var p ports
	data, err := os.ReadFile(filepath.Join(dir, portsFile))
	if err != nil || json.Unmarshal(data, &p) != nil {
		return ports{}
	}
	return p
}

func rememberPorts(dir, url string, s *servers) (err error) {
	var p ports
	if p.API, err = portOf(url); err != nil {
		return err
	}
	if p.UI, err = portOf("//" + s.temporalUI); err != nil {
		return err
	}
	return devfile.WriteJSON(filepath.Join(dir, portsFile), p)
}
