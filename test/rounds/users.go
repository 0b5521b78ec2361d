//go:build linux

package rounds

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/child"
	"github.com/catfish-index/catfish/internal/history"
	"github.com/catfish-index/catfish/rstar"
)

// callTime bounds a call of a client: longer than any fault of a round.
const callTime = 20 * time.Second

// users are the clients of a process.
type users struct {
	job     Job
	out     chan Said
	clients map[string]*catfish.Client // by path; pathWrite: that of the writers
	web     http.Client
	numbers atomic.Uint64 // of writes
	stopped chan struct{}
	last    chan struct{} // closed when the watcher has got the last event
	stands  chan struct{} // closed when the watch stands
	stood   sync.Once     // closes it
}

// UsersMain is the main function of a process of clients, over its standard input and output.
func UsersMain(in io.Reader, out io.Writer) error {
	p := child.NewPipe(in, out)
	u := &users{out: make(chan Said, 1024), stopped: make(chan struct{}), last: make(chan struct{}), stands: make(chan struct{})}
	if err := p.Read(&u.job); err != nil {
		return p.Fail(err)
	}
	var writing sync.WaitGroup
	writing.Go(func() {
		for s := range u.out {
			_ = p.Write(s) // If the parent has ended, so does this process.
		}
	})
	err := u.run(p)
	close(u.out)
	writing.Wait()
	return p.Fail(err)
}

func (u *users) run(p *child.Pipe) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if err := u.dial(ctx); err != nil {
		return err
	}
	defer func() {
		for _, c := range u.clients {
			_ = c.Close()
		}
	}()
	var users, watching sync.WaitGroup
	watching.Go(func() { u.watch(ctx) })
	defer watching.Wait()
	defer cancel()
	<-u.stands
	works := []func(context.Context, *caller){
		u.writeKey, u.writeKey, u.insertOnce, u.readBy(pathMessage), u.readBy(pathOneSided), u.readBy(pathTCP),
	}
	if !u.job.Several {
		works[2] = u.insertBox
		works = append(works, u.readHTTP)
	}
	for i, work := range works {
		c := &caller{number: 100*u.job.Number + i, r: rand.New(rand.NewPCG(u.job.Seed, uint64(100*u.job.Number+i)))}
		users.Go(func() { u.each(ctx, c, work) })
	}
	u.out <- Said{Ready: true, Transport: u.clients[pathOneSided].Info().Transport}
	for {
		var o Order
		if err := p.Read(&o); err != nil {
			return err // io.EOF: the round has ended.
		}
		switch {
		case o.Stop:
			close(u.stopped)
			users.Wait()
		case o.Last:
			u.end(ctx)
		default:
			u.readAll(ctx, o.Servers)
		}
		u.out <- Said{Done: true, Offloaded: u.clients[pathOneSided].Counters().OffloadedSearches}
	}
}

// caller is one goroutine of users.
type caller struct {
	number int
	r      *rand.Rand
}

// each calls work again and again.
func (u *users) each(ctx context.Context, c *caller, work func(context.Context, *caller)) {
	t := time.NewTicker(time.Duration(u.job.EveryMS) * time.Millisecond)
	defer t.Stop()
	for {
		select {
		case <-u.stopped:
			return
		case <-t.C:
			call, cancel := context.WithTimeout(ctx, callTime)
			work(call, c)
			cancel()
		}
	}
}

// dial opens a client for each path, and creates the collections.
func (u *users) dial(ctx context.Context) error {
	var addrs []string
	for _, s := range u.job.Servers {
		addrs = append(addrs, s.Addr)
	}
	u.clients = map[string]*catfish.Client{}
	for path, o := range map[string]catfish.Options{
		pathWrite:    {Transport: catfish.TransportSoft, Policy: "fast"},
		pathMessage:  {Transport: catfish.TransportSoft, Policy: "fast"},
		pathOneSided: {Transport: u.job.Transport, Policy: "offload"},
		pathTCP:      {Transport: catfish.TransportTCP, Policy: "tcp"},
	} {
		o.Shared, o.Logger = new(catfish.Shared), slog.New(slog.DiscardHandler)
		c, err := catfish.Dial(ctx, strings.Join(addrs, ","), o)
		if err != nil {
			return fmt.Errorf("rounds: client of path %q: %w", path, err)
		}
		u.clients[path] = c
	}
	u.web = http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	err := u.clients[pathWrite].CreateFeatures(ctx, keysName, catfish.FeaturesOptions{})
	if err != nil && !errors.Is(err, catfish.ErrCollectionExists) {
		return err
	}
	if u.job.Several {
		if err = u.createSeveral(ctx); err == nil {
			err = u.fill(ctx)
		}
		return err
	}
	if err = u.clients[pathWrite].CreateBoxes(ctx, keptName, catfish.BoxesOptions{Keep: true}); errors.Is(err, catfish.ErrCollectionExists) {
		err = nil
	}
	return err
}

// number is that of a write, unique in a round and not 0.
func (u *users) number() uint64 { return uint64(u.job.Number)<<32 | u.numbers.Add(1) }

// value is a key's value as a feature.
func value(id string, n uint64) catfish.Feature {
	return catfish.Feature{ID: id, Geometry: orb.Point{0, 0}, Properties: fmt.Appendf(nil, `{"n":"%d"}`, n)}
}

func (u *users) keys(path string) *catfish.Features {
	f, _ := u.clients[path].Features(keysName) // The name is a good one.
	return f
}

// writeKey stores or deletes a key.
func (u *users) writeKey(ctx context.Context, c *caller) {
	o := Op{KeyOp: history.KeyOp{Client: c.number, Key: c.r.IntN(u.job.all()), Call: clock()}}
	if o.Remove = c.r.IntN(6) == 0; !o.Remove {
		o.IfAbsent, o.Value = c.r.IntN(5) == 0, u.number()
	}
	f := u.keys(pathWrite)
	var err error
	switch {
	case o.Key >= u.job.Keys:
		err = u.writeRecord(ctx, &o)
	case o.Remove:
		o.Revision, err = f.Delete(ctx, keyID(o.Key), catfish.Condition{})
	default:
		_, o.Revision, err = f.Put(ctx, value(keyID(o.Key), o.Value), catfish.Condition{IfAbsent: o.IfAbsent})
	}
	o.End = clock()
	switch {
	case err == nil:
	case errors.Is(err, catfish.ErrExists) || errors.Is(err, catfish.ErrNotFound):
		o.Outcome = history.Refused
	case catfish.RetrySafe(err):
		u.out <- Said{Failure: &Failure{pathWrite, o.End, err.Error()}}
		return
	default:
		o.Outcome = history.Unknown
	}
	u.out <- Said{Op: &o}
}

// insertBox inserts a box of its own.
func (u *users) insertBox(ctx context.Context, _ *caller) {
	kept, err := u.clients[pathWrite].Collection(keptName)
	if err == nil {
		b := Box{ID: u.number()}
		err = kept.Insert(ctx, boxOf(b.ID), b.ID)
		b.End = clock()
		if err != nil && !catfish.RetrySafe(err) {
			b.Outcome, err = history.Unknown, nil
		}
		if err == nil {
			u.out <- Said{Box: &b}
			return
		}
	}
	u.out <- Said{Failure: &Failure{pathWrite, clock(), err.Error()}}
}

func boxOf(id uint64) rstar.Rect {
	x := float64(uint32(id))
	return rstar.Rect{MinX: x, MinY: 0, MaxX: x + 1, MaxY: 1}
}
