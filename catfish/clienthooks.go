package catfish

import (
	"context"
)

// WithHooks returns options with hooks for tests of this module.
func WithHooks(o Options, set func(*ClientHooks)) Options {
	set(&o.hooks)
	return o
}

// RawCall sends a request over the client's present connection, whatever is in it, and
// returns the answer, for tests of this module.
func RawCall(ctx context.Context, c *Client, m RawMessage) ([]byte, error) {
	return c.conn.sessions.latest().call(ctx, m.Kind, m.Body, nil)
}
