// countersign token: make and revoke users' tokens.

package main

import (
	"errors"
	"strings"
	"time"

	"countersign/contracts/workflow"
)

type tokenCommands struct {
	Create tokenCreate `cmd:"" help:"Make a token; its secret is shown this once."`
	Revoke tokenRevoke `cmd:"" help:"End a token at once."`
}

type tokenCreate struct {
	User      string        `arg:"" help:"Whose token: yourself, or anybody with scope admin."`
	Scope     []string      `default:"tasks:read,tasks:write" placeholder:"SCOPE" help:"tasks:read, tasks:write, agents:read, agents:write, documents:read, documents:write or admin; may be repeated."`
	ExpiresIn time.Duration `placeholder:"720h" help:"The token's life. Default: until it is revoked."`
}

// Help is shown by --help.
func (tokenCreate) Help() string {
	return `Examples:

  countersign token create ada --scope tasks:read --expires-in 720h
  COUNTERSIGN_TOKEN=$(countersign token create ada --output json | jq -r .token)

The first token of an instance is made by ` + "`countersign migrate --admin USER`."
}

// Run makes the token.
func (c *tokenCreate) Run(s *session) error {
	r, err := s.remote()
	if err != nil {
		return err
	}
	request := workflow.CreateToken{User: c.User}
	for _, scope := range c.Scope {
		request.Scopes = append(request.Scopes, workflow.Scope(scope))
	}
	if c.ExpiresIn != 0 {
		if c.ExpiresIn < time.Second {
			return usageError{errors.New("--expires-in must be at least 1s")}
		}
		seconds := int64(c.ExpiresIn / time.Second)
		request.ExpiresIn = &seconds
	}
	t, err := r.CreateToken(s.ctx, request)
	if err != nil {
		return err
	}
	return s.print(t, func() error { return s.printToken(t) })
}

func (s *session) printToken(t workflow.TokenCreated) error {
	scopes := make([]string, 0, len(t.Scopes))
	for _, scope := range t.Scopes {
		scopes = append(scopes, string(scope))
	}
	expires := "never"
	if t.ExpiresAt != nil {
		expires = stamp(*t.ExpiresAt)
	}
	return s.out.Fields("id", t.ID, "user", t.User, "scopes", strings.Join(scopes, " "), "expires", expires,
		"token", t.Token+"  (shown this once)")
}

type tokenRevoke struct {
	ID string `arg:"" help:"The token's id, not the token itself."`
}

// Run revokes.
func (c *tokenRevoke) Run(s *session) error {
	if err := checkID("token", c.ID); err != nil {
		return err
	}
	r, err := s.remote()
	if err != nil {
		return err
	}
	revoked, err := r.RevokeToken(s.ctx, c.ID)
	if err != nil {
		return err
	}
	return s.print(revoked, func() error {
		return s.out.Fields("id", revoked.ID, "revoked", stamp(revoked.RevokedAt))
	})
}
