// countersign health: the question a container's health check asks, from an image without a shell.

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"countersign/cmd/countersign/internal/devfile"
)

// healthBound is below the intervals that health checks use.
const healthBound = 5 * time.Second

type healthCommand struct {
	URL string `arg:"" optional:"" help:"What to get; a worker answers http://127.0.0.1:8081/healthz. Default: /readyz of the server (--server, COUNTERSIGN_URL, the nearest dev.json), else http://127.0.0.1:8080/readyz."`
}

// target is what to get.
func (c *healthCommand) target(s *session) (string, error) {
	server := s.cli.Server
	if c.URL != "" {
		return c.URL, nil
	}
	if server == "" {
		dev, _, err := devfile.Find(".")
		switch {
		case errors.Is(err, devfile.ErrNone):
			dev.URL = "http://127.0.0.1:8080"
		case err != nil:
			return "", err
		}
		server = dev.URL
	}
	return strings.TrimRight(server, "/") + "/readyz", nil
}

// Run gets the URL; anything but 200 fails.
func (c *healthCommand) Run(s *session) error {
	ctx, cancel := context.WithTimeout(s.ctx, healthBound)
	defer cancel()
	target, err := c.target(s)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return usageError{err}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s: %s", target, resp.Status, body)
	}
	return s.print(struct {
		URL     string `json:"url"`
		Healthy bool   `json:"healthy"`
	}{target, true}, func() error {
		s.out.Println("healthy")
		return nil
	})
}
