//go:build linux

package kvpeers

import (
	"context"
	"errors"

	"github.com/catfish-index/catfish/datasets/ycsb"
)

var (
	// ErrConfig: a configuration has a value that is not allowed.
	ErrConfig = errors.New("kvpeers: bad configuration")
	// ErrMissing: a server's program is not installed; the text says what to
	// install.
	ErrMissing = errors.New("kvpeers: not installed")
	// ErrAnswer: a server's answer is an error, or is not understood. The
	// connection is of no use any more.
	ErrAnswer = errors.New("kvpeers: bad answer")
	// ErrLost: a key that was written is not there.
	ErrLost = errors.New("kvpeers: lost key")
)

// Request is a Get, or a Set of Value. A Get sets Found, and Value to what
// was found, in the room that Value has.
type Request struct {
	Key   ycsb.Key
	Value []byte
	Set   bool
	Found bool
}

// Conn is a connection to a server.
type Conn interface {
	// Do sends all requests, then waits for all answers. They are carried
	// out in their order.
	Do(ctx context.Context, rs []Request) error
	// GetMany reads all keys by one command, if the server has one that is
	// faster than Do.
	GetMany(ctx context.Context, rs []Request) error
	Close() error
}

// Get reads one key; nil if it is not there.
func Get(ctx context.Context, c Conn, key ycsb.Key) ([]byte, error) {
	rs := []Request{{Key: key}}
	if err := c.Do(ctx, rs); err != nil || !rs[0].Found {
		return nil, err
	}
	return rs[0].Value, nil
}

// Set writes one key.
func Set(ctx context.Context, c Conn, key ycsb.Key, value []byte) error {
	return c.Do(ctx, []Request{{Key: key, Value: value, Set: true}})
}
