package groups

import (
	"context"
	"sync"
	"time"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/catfish"
)

// Window is what writers saw in a time.
type Window struct {
	Elapsed time.Duration `json:"elapsed_ns"`
	Writes  int           `json:"writes"` // acknowledged
	// Gap is the longest time between two acknowledgements, of whichever writers, and
	// Longest the longest write that ended.
	Gap     time.Duration `json:"gap_ns"`
	Longest time.Duration `json:"longest_ns"`
	Errors  int           `json:"errors"`
	First   string        `json:"first_error,omitempty"`
}

// writersEach is how many writers there are of each kind.
const writersEach = 2

// afterError is how long a writer rests when a write has failed.
const afterError = 10 * time.Millisecond

// writers write without pause until end.
type writers struct {
	conns []*catfish.Client
	stop  context.CancelFunc
	wg    sync.WaitGroup

	mu    sync.Mutex
	since time.Time // of the window
	last  time.Time // an acknowledgement
	w     Window
}

// begin starts writers of all kinds.
func (c *clients) begin(ctx context.Context) (err error) {
	c.going, err = c.start(ctx, writersEach*len(Kinds), func(i int, conn *catfish.Client) (writer, error) {
		return c.writer(conn, Kinds[i%len(Kinds)])
	})
	return err
}

// start starts writers, with the time-outs that clients have by default. After an error, too,
// they are to be ended.
func (c *clients) start(ctx context.Context, n int, writer func(i int, conn *catfish.Client) (writer, error)) (*writers, error) {
	conns, err := harness.DialAll(n, func(int) (*catfish.Client, error) { return c.dial(ctx, 0) })
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	now := time.Now()
	g := &writers{conns: conns, stop: stop, since: now, last: now}
	for i, conn := range conns {
		write, err := writer(i, conn)
		if err != nil {
			return g, err
		}
		g.wg.Go(func() { g.each(ctx, write) })
	}
	return g, nil
}

func (g *writers) each(ctx context.Context, write writer) {
	for ctx.Err() == nil {
		began := time.Now()
		err := write(ctx)
		if ctx.Err() != nil {
			return // It was interrupted.
		}
		g.note(began, time.Now(), err)
		if err != nil {
			_ = harness.Sleep(ctx, afterError) // An interruption ends the loop.
		}
	}
}

func (g *writers) note(began, now time.Time, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err != nil {
		if g.w.Errors++; g.w.First == "" {
			g.w.First = err.Error()
		}
		return
	}
	g.w.Writes++
	g.w.Gap = max(g.w.Gap, now.Sub(g.last))
	g.w.Longest = max(g.w.Longest, now.Sub(began))
	g.last = now
}

// window ends a window, and begins the next one.
func (g *writers) window() Window {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	w := g.w
	w.Elapsed, w.Gap = now.Sub(g.since), max(w.Gap, now.Sub(g.last))
	g.since, g.w = now, Window{}
	return w
}

func (g *writers) end() error {
	g.stop()
	g.wg.Wait()
	closeAll(g.conns)
	g.conns = nil
	return nil
}
