// countersign health: the question a container's health check asks, from an image without a shell.

package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// healthBound is below the intervals that health checks use.
const healthBound = 5 * time.Second

type healthCommand struct {
	URL string `arg:"" optional:"" default:"http://127.0.0.1:8080/readyz" help:"What to get (${default}); a worker answers http://127.0.0.1:8081/healthz."`
}

// Run gets the URL; anything but 200 fails.
func (c *healthCommand) Run(s *session) error {
	ctx, cancel := context.WithTimeout(s.ctx, healthBound)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.URL, nil)
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
		return fmt.Errorf("%s: %s: %s", c.URL, resp.Status, body)
	}
	return s.print(struct {
		URL     string `json:"url"`
		Healthy bool   `json:"healthy"`
	}{c.URL, true}, func() error {
		s.out.Println("healthy")
		return nil
	})
}
