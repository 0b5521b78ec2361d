package client

import (
	"context"

	"github.com/catfish-index/catfish/internal/wire"
)

// WithHooks returns options with hooks for tests of this module.
func WithHooks(o Options, set func(*wire.ClientHooks)) Options {
	set(&o.hooks)
	return o
}

// RawCall sends a request over the client's present connection, whatever is in it, and
// returns the answer, for tests of this module.
func RawCall(ctx context.Context, c *Client, m wire.RawMessage) ([]byte, error) {
	return c.conn.sessions.latest().call(ctx, m.Kind, m.Body, nil)
}
