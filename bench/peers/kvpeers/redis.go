//go:build linux

package kvpeers

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"

	"github.com/redis/rueidis"

	"github.com/catfish-index/catfish/bench/kv"
)

// redisConn speaks to Redis by rueidis, over one connection. It may be used
// by several goroutines, whose commands rueidis then sends together.
type redisConn struct {
	dialer
	client rueidis.Client
}

// redisPipeline is a redisConn that is a kv.Pipeliner.
type redisPipeline struct {
	*redisConn
	many []rueidis.Completed
}

func dialRedis(_ context.Context, d dialer) (kv.Store, error) {
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{d.addr},
		DialCtxFn: func(ctx context.Context, _ string, nd *net.Dialer, _ *tls.Config) (net.Conn, error) {
			return d.dial(ctx, nd)
		},
		ForceSingleClient: true, // It need not ask whether this is a cluster.
		PipelineMultiplex: -1,   // One connection, as all peers have.
		AlwaysPipelining:  true, // The measured one of its two modes.
		DisableCache:      true, // Each Get shall reach the server.
		DisableRetry:      true, // Errors shall be visible.
	})
	if err != nil {
		return nil, err
	}
	return &redisConn{dialer: d, client: client}, nil
}

func dialRedisPipeline(ctx context.Context, d dialer) (kv.Store, error) {
	s, err := dialRedis(ctx, d)
	if err != nil {
		return nil, err
	}
	return &redisPipeline{redisConn: s.(*redisConn)}, nil
}

// Get reads one key.
func (c *redisConn) Get(ctx context.Context, key, dst []byte) ([]byte, error) {
	value, err := c.client.Do(ctx, c.client.B().Get().Key(rueidis.BinaryString(key)).Build()).ToString()
	switch {
	case rueidis.IsRedisNil(err):
		return dst, fmt.Errorf("%w: %s", kv.ErrNotFound, key)
	case err != nil:
		return dst, fmt.Errorf("%w: GET %s: %w", ErrAnswer, key, err)
	}
	return append(dst, value...), nil
}

// Put writes one key.
func (c *redisConn) Put(ctx context.Context, key, value []byte) error {
	if err := c.client.Do(ctx, c.client.B().Set().Key(rueidis.BinaryString(key)).
		Value(rueidis.BinaryString(value)).Build()).Error(); err != nil {
		return fmt.Errorf("%w: SET %s: %w", ErrAnswer, key, err)
	}
	return nil
}

// Delete removes a key.
func (c *redisConn) Delete(ctx context.Context, key []byte) error {
	n, err := c.client.Do(ctx, c.client.B().Del().Key(rueidis.BinaryString(key)).Build()).ToInt64()
	if err != nil {
		return fmt.Errorf("%w: DEL %s: %w", ErrAnswer, key, err)
	}
	if n == 0 {
		return fmt.Errorf("%w: %s", kv.ErrNotFound, key)
	}
	return nil
}

// Do pipelines.
func (c *redisPipeline) Do(ctx context.Context, rs []kv.Request) error {
	c.many = c.many[:0]
	for i := range rs {
		r := &rs[i]
		key := rueidis.BinaryString(r.Key[:])
		if r.Put {
			c.many = append(c.many, c.client.B().Set().Key(key).Value(rueidis.BinaryString(r.Value)).Build())
		} else {
			c.many = append(c.many, c.client.B().Get().Key(key).Build())
		}
	}
	answers := c.client.DoMulti(ctx, c.many...)
	for i := range rs {
		if err := take(&rs[i], answers[i]); err != nil {
			return err
		}
	}
	return nil
}

// take puts an answer into its request.
func take(r *kv.Request, answer rueidis.RedisResult) error {
	if r.Put {
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

// GetMany is MGET.
func (c *redisConn) GetMany(ctx context.Context, rs []kv.Request) error {
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

// Close ends the connection.
func (c *redisConn) Close() error {
	c.client.Close()
	return nil
}
