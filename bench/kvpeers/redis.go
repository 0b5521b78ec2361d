//go:build linux

package kvpeers

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"

	"github.com/redis/rueidis"
)

// redisConn speaks to Redis by rueidis, over one connection. It may be used
// by several goroutines, whose commands rueidis then sends together; Do and
// GetMany of one goroutine keep their order.
type redisConn struct {
	client rueidis.Client
	many   []rueidis.Completed // of Do
	shared bool                // several goroutines: many is not used
}

func dialRedis(shared bool) func(context.Context, string, string) (Conn, error) {
	return func(_ context.Context, network, addr string) (Conn, error) {
		client, err := rueidis.NewClient(rueidis.ClientOption{
			InitAddress: []string{addr},
			DialCtxFn: func(ctx context.Context, addr string, d *net.Dialer, _ *tls.Config) (net.Conn, error) {
				return d.DialContext(ctx, network, addr)
			},
			ForceSingleClient: true, // It need not ask whether this is a cluster.
			PipelineMultiplex: -1,   // One connection, as all peers have.
			AlwaysPipelining:  true, // Of its two ways the one that is measured.
			DisableCache:      true, // Each Get shall reach the server.
			DisableRetry:      true, // What goes wrong shall be seen.
		})
		if err != nil {
			return nil, err
		}
		return &redisConn{client: client, shared: shared}, nil
	}
}

func (c *redisConn) command(r *Request) rueidis.Completed {
	key := rueidis.BinaryString(r.Key[:])
	if r.Set {
		return c.client.B().Set().Key(key).Value(rueidis.BinaryString(r.Value)).Build()
	}
	return c.client.B().Get().Key(key).Build()
}

func (c *redisConn) Do(ctx context.Context, rs []Request) error {
	if len(rs) == 1 {
		return take(&rs[0], c.client.Do(ctx, c.command(&rs[0])))
	}
	var many []rueidis.Completed
	if !c.shared {
		many = c.many[:0]
	}
	for i := range rs {
		many = append(many, c.command(&rs[i]))
	}
	answers := c.client.DoMulti(ctx, many...)
	if !c.shared {
		c.many = many
	}
	for i := range rs {
		if err := take(&rs[i], answers[i]); err != nil {
			return err
		}
	}
	return nil
}

// take puts an answer into its request.
func take(r *Request, answer rueidis.RedisResult) error {
	if r.Set {
		if err := answer.Error(); err != nil {
			return fmt.Errorf("%w: SET %s: %w", ErrAnswer, r.Key, err)
		}
		return nil
	}
	value, err := answer.ToString()
	r.Found = err == nil
	if err != nil && !rueidis.IsRedisNil(err) {
		return fmt.Errorf("%w: GET %s: %w", ErrAnswer, r.Key, err)
	}
	r.Value = append(r.Value[:0], value...)
	return nil
}

func (c *redisConn) GetMany(ctx context.Context, rs []Request) error {
	keys := make([]string, len(rs))
	for i := range rs {
		keys[i] = rueidis.BinaryString(rs[i].Key[:])
	}
	values, err := c.client.Do(ctx, c.client.B().Mget().Key(keys...).Build()).ToArray()
	if err != nil {
		return fmt.Errorf("%w: MGET: %w", ErrAnswer, err)
	}
	if len(values) != len(rs) {
		return fmt.Errorf("%w: MGET of %d keys: %d values", ErrAnswer, len(rs), len(values))
	}
	for i := range rs {
		value, err := values[i].ToString()
		rs[i].Found = err == nil
		if err != nil && !rueidis.IsRedisNil(err) {
			return fmt.Errorf("%w: MGET: %w", ErrAnswer, err)
		}
		rs[i].Value = append(rs[i].Value[:0], value...)
	}
	return nil
}

func (c *redisConn) Close() error {
	c.client.Close()
	return nil
}
