// The route table's entries and how a call goes through one.

package api

import (
	"context"
	"io"
	"net/http"
	"reflect"
	"strings"
	"time"

	"countersign/contracts"
	"countersign/contracts/workflow"
	"countersign/store"

	"github.com/gin-gonic/gin"
)

// Route is one entry of the route table, from which routing, authorisation, decoding and
// documentation all come.
type Route struct {
	Method string
	Path   string // with {name} for a path parameter
	// Public routes need no token.
	Public bool
	// Scope is what the token must carry; "" on a route that is not public means any user's token.
	Scope workflow.Scope
	// AlsoScopes are what the token must carry besides Scope.
	AlsoScopes []workflow.Scope
	Query      []Param
	// Body is the type of the JSON body, nil for none; BodyOptional lets it be absent.
	Body         reflect.Type
	BodyOptional bool
	// Upload is how large a body of raw bytes may be; 0 for no such body.
	Upload int64
	// Fenced says that the proof of a held lease comes in headers, for the body has no room for it.
	Fenced bool
	// Answer is the type of the answer, nil for raw bytes; Status its HTTP status; a handler may choose
	// 200 instead.
	Answer reflect.Type
	Status int
	// Replays says that the same call again is answered with 200.
	Replays bool

	// limit bounds the call once its body is there; 0 is callLimit.
	limit  time.Duration
	handle func(*call, []byte) (any, error)
}

// callLimit is how long a call may take, besides sending its body, before it is unavailable.
const callLimit = 8 * time.Second

// call is one request on its way through a route.
type call struct {
	context.Context
	who    store.Identity
	query  query
	raw    []byte         // the body as sent
	upload io.Reader      // the body of an upload
	fence  workflow.Fence // of a fenced route
	status int
	gin    *gin.Context
}

// param is a path parameter; one that PostgreSQL cannot hold becomes "", which nothing is called.
func (c *call) param(name string) string {
	value := c.gin.Param(name)
	if !plainText(value) {
		return ""
	}
	return value
}

// reading makes a route without a body.
func reading[A any](method, path string, scope workflow.Scope, params []Param, f func(*call) (A, error)) Route {
	return Route{
		Method: method, Path: path, Scope: scope, Query: params, Answer: reflect.TypeFor[A](), Status: 200,
		handle: func(c *call, _ []byte) (any, error) {
			if err := c.parse(params); err != nil {
				return nil, err
			}
			return f(c)
		},
	}
}

// writing makes a route with a JSON body of the closed type B.
func writing[B, A any](method, path string, scope workflow.Scope, status int, f func(*call, B) (A, error)) Route {
	return writingAs(func(data []byte) (B, error) {
		var body B
		err := workflow.Decode(data, &body)
		return body, err
	}, method, path, scope, status, f)
}

// writingAs is writing with a body that is read in its own way.
func writingAs[B, A any](decode func([]byte) (B, error), method, path string, scope workflow.Scope, status int, f func(*call, B) (A, error)) Route {
	return Route{
		Method: method, Path: path, Scope: scope, Body: reflect.TypeFor[B](), Answer: reflect.TypeFor[A](), Status: status,
		handle: func(c *call, data []byte) (any, error) {
			var body B
			if data != nil {
				var err error
				if body, err = decode(data); err != nil {
					return nil, err
				}
			}
			if err := c.parse(nil); err != nil {
				return nil, err
			}
			return f(c, body)
		},
	}
}

func (c *call) parse(params []Param) (err error) {
	c.query, err = parseQuery(c.gin.Request.URL.RawQuery, params)
	return err
}

// serve runs a call through its route, in the order of checks that docs/api.md promises: who calls,
// with which scope, a readable body, a valid one, and then what the store has to say.
func (a *API) serve(r Route) gin.HandlerFunc {
	if r.limit == 0 {
		r.limit = callLimit
	}
	return func(g *gin.Context) {
		c := &call{gin: g, status: r.Status}
		answer, err := a.run(c, r)
		if content, ok := answer.(content); ok && err == nil {
			err = writeBytes(g, content)
		} else if err == nil {
			err = writeJSON(g, c.status, mediaJSON, answer)
		}
		if err != nil {
			refuse(g, err)
		}
	}
}

func (a *API) run(c *call, r Route) (_ any, err error) {
	if !r.Public {
		defer c.within(callLimit)()
		if err := a.authorise(c, r); err != nil {
			return nil, err
		}
	}
	if r.Upload > 0 {
		if err := checkEncoding(c.gin.Request.Header); err != nil {
			return nil, err
		}
		c.upload = openUpload(c.gin, r.Upload)
	}
	if r.Body != nil {
		if c.raw, err = readBody(c.gin, r.BodyOptional, maxBody); err != nil {
			return nil, err
		}
	}
	// Only now, so that a body from a slow line does not use the call's time up.
	defer c.within(r.limit)()
	return r.handle(c, c.raw)
}

// within bounds what follows in the call by limit from now on.
func (c *call) within(limit time.Duration) context.CancelFunc {
	var cancel context.CancelFunc
	c.Context, cancel = context.WithTimeout(c.gin.Request.Context(), limit)
	return cancel
}

// authorise finds the bearer of the call's token and holds the token to the route's scopes.
func (a *API) authorise(c *call, r Route) error {
	who, err := a.identity(c, c.gin.Request.Header)
	if err != nil {
		return err
	}
	c.who = who
	c.gin.Set(keyWho, who)
	return r.admit(who)
}

// identity is who sent a request. The error is unauthenticated for a missing or unknown token.
func (a *API) identity(ctx context.Context, header http.Header) (store.Identity, error) {
	secret, ok := bearer(header.Values("Authorization"))
	if !ok {
		return store.Identity{}, contracts.Refuse(contracts.CodeUnauthenticated, "send Authorization: Bearer and a token")
	}
	return a.store.Authenticate(ctx, secret)
}

// admit refuses who may not call the route with the token used.
func (r Route) admit(who store.Identity) error {
	scopes := r.scopes()
	if len(scopes) == 0 && who.User == "" {
		return contracts.Refuse(contracts.CodeForbidden, "this is for users, not for nodes")
	}
	for _, scope := range scopes {
		if !who.Has(scope) {
			return contracts.Refuse(contracts.CodeForbidden, "the token lacks the scope %s", scope)
		}
	}
	return nil
}

// scopes are all that the token must carry.
func (r Route) scopes() []workflow.Scope {
	if r.Scope == "" {
		return nil
	}
	return append([]workflow.Scope{r.Scope}, r.AlsoScopes...)
}

func bearer(values []string) (secret string, ok bool) {
	if len(values) != 1 {
		return "", false
	}
	scheme, secret, _ := strings.Cut(values[0], " ")
	secret = strings.TrimSpace(secret)
	return secret, strings.EqualFold(scheme, "bearer") && secret != ""
}
