package server

import (
	"context"
	"fmt"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/wire"
)

// SwapCollections exchanges the names of two collections of features, at one moment
// for clients, and durably. It returns when no client reads by an old name any more,
// which may take 10 s; calls that begin then see the new names. ErrKind: one is of
// another kind. ErrNotPermitted: the server's owner has given the name other options
// (Options.Features). Watchers of both end with store.ErrSwapped, which clients
// receive as store.ErrLagged.
func (s *Server) SwapCollections(ctx context.Context, a, b string) error {
	st, err := s.features.ready()
	if err != nil {
		return err
	}
	return st.Swap(ctx, a, b)
}

// swap returns when the last lease ends. The store swaps by swap.
func (cs *collections) swap(s *Server, a, b string, swap func() error) (until time.Duration, err error) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if cs.closed {
		return 0, model.ErrClosed
	}
	x, err := cs.swappable(a)
	if err != nil {
		return 0, err
	}
	y, err := cs.swappable(b)
	if err != nil {
		return 0, err
	}
	for name, c := range map[string]*collection{a: y, b: x} {
		if o, fixed := s.opts.Features[name]; fixed && o != model.FeaturesOptions(c.features.Options()) {
			return 0, fmt.Errorf("%w: the server has %q with other options than %q", model.ErrNotPermitted, name, c.name)
		}
	}
	if err := swap(); err != nil {
		return 0, err
	}
	nx, ny := cs.as(x, y), cs.as(y, x)
	cs.rename(func(names map[string]*collection) { names[a], names[b] = ny, nx })
	for c, after := range map[*collection]*collection{x: ny, y: nx} {
		c.dropped.Store(true)
		at := c.opened.Load()
		if at == 0 {
			continue
		}
		until = max(until, time.Duration(at)+s.nameLease())
		// A second swap of the name meanwhile waits for these leases, too. If a client
		// has opened the new one since, that time is later.
		after.opened.CompareAndSwap(0, at)
	}
	return until, nil
}

// swappable finds a collection of features whose slot has another number.
func (cs *collections) swappable(name string) (*collection, error) {
	c, err := cs.byName(name)
	if err == nil {
		err = c.isOf(model.KindFeatures)
	}
	if err == nil {
		err = c.ready()
	}
	if err == nil && cs.next[c.num%maxCollections] >= 1<<(32-slotBits) {
		err = fmt.Errorf("%w: %q was swapped too often", model.ErrBusy, name)
	}
	return c, err
}

// as returns c under the name of other, in c's slot.
func (cs *collections) as(c, other *collection) *collection {
	slot := c.num % maxCollections
	n := &collection{
		num: cs.next[slot]<<slotBits | slot, name: other.name, account: other.account, kept: other.kept,
		tree: c.tree, records: c.records, features: c.features, slab: c.slab, index: c.index, heap: c.heap,
	}
	cs.next[slot]++
	cs.before[slot].Store(&formerly{c.num, c.name})
	cs.slots[slot].Store(n)
	return n
}

// open is called before the server answers a client where the memory is.
func (c *collection) open(transport string) {
	if transport != model.TransportTCP {
		c.opened.Store(int64(wire.Monotonic()))
	}
}

func (s *Server) nameLease() time.Duration {
	if s.opts.hooks.NameLease > 0 {
		return s.opts.hooks.NameLease
	}
	return wire.NameLease
}

// swap begins the swap that a client asked for.
func (v *service) swap(a, b string) error {
	if a == b {
		return fmt.Errorf("%w: %q swapped with itself", model.ErrProtocol, a) // The client has checked it.
	}
	if v.s.opts.ClientCollections < 0 {
		return fmt.Errorf("%w: the collections of this server are fixed", model.ErrNotPermitted)
	}
	v.pending = &swapWork{v.s, a, b}
	return nil
}

// swapWork is a client's swap. It takes no scheduling slot, since it waits.
type swapWork struct {
	s    *Server
	a, b string
}

func (w *swapWork) keeps() int { return 0 }

func (w *swapWork) refused() {}

func (w *swapWork) begin(a lateAnswer) {
	w.s.serving.Go(func() {
		if err := w.s.SwapCollections(w.s.ctx, w.a, w.b); err != nil {
			a.fail(err, 0)
			return
		}
		a.reply(nil)
	})
}
