package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/datasets"
	"github.com/catfish-index/catfish/internal/child"
	"github.com/catfish-index/catfish/internal/latency"
	"github.com/catfish-index/catfish/internal/store/query"
	"github.com/catfish-index/catfish/rstar"
)

// ClientRole is the role of a load's client process, which ClientMain plays.
const ClientRole child.Role = "engine"

// clientJob is the first line that a client process reads.
type clientJob struct {
	target
	Policy   string        `json:"policy"`
	Key      string        `json:"key"`
	Proc     int           `json:"proc"` // number of this process
	Clients  int           `json:"clients"`
	Every    time.Duration `json:"every_ns"`
	Duration time.Duration `json:"duration_ns"`
}

// clientSays is a line from a client process: how its clients are connected, then
// their samples, in each interval.
type clientSays struct {
	Transport string   `json:"transport,omitempty"`
	Policy    string   `json:"policy,omitempty"`
	Samples   []Sample `json:"samples,omitempty"`
}

// start is the second line that a client process reads.
type start struct {
	Go bool `json:"go"`
}

// client is one connection and its callers' latencies.
type client struct {
	conn   *catfish.Client
	search func(context.Context, []rstar.Item, rstar.Rect) ([]rstar.Item, error) // reuses the slice
	last   Sample

	mu   sync.Mutex // taken once per search, contended when a sample is taken
	seen *latency.Distribution
}

// ClientMain is a load's client process. It returns when in ends, when ctx is done or
// when a search fails.
func ClientMain(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p := child.NewPipe(in, out)
	var job clientJob
	if err := p.Read(&job); err != nil {
		return p.Fail(err)
	}
	var clients []*client
	defer func() {
		for _, c := range clients {
			_ = c.conn.Close() // The load is over.
		}
	}()
	for range job.Clients {
		c, err := job.dial(ctx)
		if err != nil {
			return p.Fail(err)
		}
		clients = append(clients, c)
	}
	info := clients[0].conn.Info()
	if err := p.Write(clientSays{Transport: info.Transport, Policy: info.Policy}); err != nil {
		return err
	}
	var cmd start
	if err := p.Read(&cmd); err != nil || !cmd.Go {
		return p.Fail(err)
	}
	go func() { // The process ends with its input.
		_ = p.Read(&cmd)
		cancel(nil)
	}()
	var callers sync.WaitGroup
	defer callers.Wait()
	defer cancel(nil)
	began := time.Now()
	for i := range job.Clients * callersOfClient {
		next, err := job.queries(i)
		if err != nil {
			return p.Fail(err)
		}
		callers.Go(func() {
			clients[i%job.Clients].run(ctx, cancel, next, func() time.Duration { return rest(time.Since(began), job.Duration) })
		})
	}
	return p.Fail(report(ctx, p, job.Every, clients))
}

func (job clientJob) dial(ctx context.Context) (*client, error) {
	conn, err := catfish.Dial(ctx, job.Addr, catfish.Options{Policy: job.Policy, Key: job.Key, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, fmt.Errorf("dialling %s: %w", job.Addr, err)
	}
	c := &client{conn: conn, seen: latency.New()}
	if job.Features == "" {
		c.search = func(ctx context.Context, buf []rstar.Item, q rstar.Rect) ([]rstar.Item, error) {
			return conn.SearchAppend(ctx, buf[:0], q, 0)
		}
		return c, nil
	}
	of, err := conn.Features(job.Features)
	if err != nil {
		_ = conn.Close() // The first error says more.
		return nil, err
	}
	c.search = func(ctx context.Context, buf []rstar.Item, q rstar.Rect) ([]rstar.Item, error) {
		for _, err := range of.Search(ctx, catfish.FeatureQuery{Area: query.Box(q.MinX, q.MinY, q.MaxX, q.MaxY)}) {
			if err != nil {
				return buf, err
			}
		}
		return buf, nil
	}
	return c, nil
}

// queries returns the stream of searches of one caller of this process.
func (job clientJob) queries(caller int) (func() rstar.Rect, error) {
	scale, err := datasets.ParseScale(job.Scale)
	if err != nil {
		return nil, err
	}
	return datasets.Queries(scale, job.Bounds, 0, uint64(job.Proc)<<20|uint64(caller))
}

// run searches until ctx is done or a search fails, which ends the load, and rests between
// searches.
func (c *client) run(ctx context.Context, fail context.CancelCauseFunc, next func() rstar.Rect, rest func() time.Duration) {
	var buf []rstar.Item
	for ctx.Err() == nil {
		q, began := next(), time.Now()
		var err error
		if buf, err = c.search(ctx, buf, q); err != nil {
			if ctx.Err() == nil {
				fail(fmt.Errorf("search: %w", err))
			}
			return
		}
		took := time.Since(began)
		c.mu.Lock()
		c.seen.Record(took)
		c.mu.Unlock()
		if d := rest(); d > 0 {
			select {
			case <-ctx.Done():
			case <-time.After(d):
			}
		}
	}
}

// report sends a sample of each client in each interval.
func report(ctx context.Context, p *child.Pipe, every time.Duration, clients []*client) error {
	began, tick := time.Now(), time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			if err := context.Cause(ctx); !errors.Is(err, ctx.Err()) {
				return err
			}
			return nil
		case <-tick.C:
		}
		says := clientSays{Samples: make([]Sample, len(clients))}
		for i, c := range clients {
			says.Samples[i] = c.sample(time.Since(began))
		}
		if err := p.Write(says); err != nil {
			return err
		}
	}
}

// sample returns what the client did since the last sample.
func (c *client) sample(at time.Duration) Sample {
	n := c.conn.Counters()
	now := Sample{
		Elapsed: at, Fast: n.FastSearches, Offload: n.OffloadedSearches, FellBack: n.FellBack, Reads: n.Reads + n.AnswerReads,
		Restarts: n.Restarts, Torn: n.TornReads, Latency: latency.New(),
	}
	c.mu.Lock()
	now.Latency, c.seen = c.seen, now.Latency
	c.mu.Unlock()
	did := now.since(c.last)
	c.last = now
	return did
}
