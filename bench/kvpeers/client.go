//go:build linux

package kvpeers

import (
	"context"
	"fmt"
	"time"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/datasets/ycsb"
)

// client is a closed loop: it draws operations, sends them together, checks
// the answers, and begins again.
type client struct {
	conn    Conn
	many    bool // GetMany
	ops     *ycsb.Ops
	drawn   []ycsb.Op
	rs      []Request
	second  []Request // writes of read-modify-writes
	latency [kinds]*bench.Latency
}

func newClient(c *Config, conn Conn, number, atOnce int) (*client, error) {
	ops, err := c.Workload.Ops(number)
	if err != nil {
		return nil, err
	}
	return &client{
		conn: conn, many: c.Batch > 1, ops: ops, latency: newOutcome().latency,
		drawn: make([]ycsb.Op, atOnce), rs: make([]Request, atOnce), second: make([]Request, 0, atOnce),
	}, nil
}

// run ends at a time, with an error, or with ctx.
func (c *client) run(ctx context.Context, from, to time.Time) error {
	for begin := time.Now(); begin.Before(to); {
		if err := c.once(ctx); err != nil {
			return err
		}
		end := time.Now()
		if !begin.Before(from) && !end.After(to) {
			for i := range c.drawn {
				c.latency[c.drawn[i].Kind].Record(end.Sub(begin))
			}
		}
		begin = end
	}
	return nil
}

// once carries out a batch of operations. They are answered in their order,
// so a read of what was inserted before it finds it.
func (c *client) once(ctx context.Context) error {
	c.second = c.second[:0]
	for i := range c.drawn {
		op, r := c.ops.Next(), &c.rs[i]
		c.drawn[i] = op
		r.Key, r.Set, r.Found = op.Key, op.Kind == ycsb.Update || op.Kind == ycsb.Insert, false
		if r.Set {
			r.Value = op.AppendValue(r.Value[:0])
		}
	}
	send := c.conn.Do
	if c.many {
		send = c.conn.GetMany
	}
	if err := send(ctx, c.rs); err != nil {
		return err
	}
	for i := range c.rs {
		r := &c.rs[i]
		if r.Set {
			continue
		}
		if !r.Found {
			return fmt.Errorf("%w: %s, of number %d", ErrLost, r.Key, c.drawn[i].Number)
		}
		if _, err := ycsb.CheckValue(r.Key, r.Value); err != nil {
			return err
		}
		if op := &c.drawn[i]; op.Kind == ycsb.ReadModifyWrite {
			// What was read has been checked: its room takes what is written.
			c.second = append(c.second, Request{Key: r.Key, Set: true, Value: op.AppendValue(r.Value[:0])})
			r.Value = c.second[len(c.second)-1].Value
		}
	}
	if len(c.second) == 0 {
		return nil
	}
	return c.conn.Do(ctx, c.second)
}
