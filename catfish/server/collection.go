package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/mapped"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/wire"
)

// The server's collections are those of its store, of all kinds (store.Entry). Their
// memory is in slabs that every device has registered (slab.go), and the server has
// something beside each of them (attached).
//
// Collections come and go while workers and clients search them. A worker that has looked
// one up may search its tree until the tree is closed, and close waits for that search;
// then the tree looks empty. So an answer is given only if the collection has not ended by
// then (Entry.Gone).
//
// A client that offloads reads the memory until its region is closed, and then gets an
// error from the transport. It asks for the collection again, by name, and learns that
// there is none. Clients of shared memory may keep the region mapped for longer. The tree
// in it does not change any more.
type collection = store.Entry

// attached is what the server has beside a collection.
type attached struct {
	// opened is when a client last got the memory's address (monotonic).
	opened atomic.Int64
	// owned and strayed count the requests about a shard that its owner carried
	// out, and that other workers carried out.
	owned, strayed atomic.Uint64
}

func attachedTo(c *collection) *attached { return c.Attached.(*attached) }

// Sixteen hosts fill the store's table.
var _ [store.MaxCollections]struct{} = [16 * model.DefaultClientCollections]struct{}{}

// slabOf returns the memory of a part of a collection.
func slabOf(c *collection, p store.Part) *slabMemory { return c.Memory[p].Of.(*slabMemory) }

// goneOr returns an error of the store, or that the collection was dropped.
func goneOr(c *collection, err error) error {
	if gone := c.Gone(); gone != nil && err != nil {
		return gone
	}
	return err
}

// specs returns the collections that the options name. The default one always exists.
func (o *Options) specs() (all []store.Named) {
	add := func(name string, s store.Spec) {
		s.Loading, s.Permanent = slices.Contains(o.Loading, name), name == model.DefaultCollection
		all = append(all, store.Named{Name: name, Spec: s})
	}
	for _, name := range append([]string{model.DefaultCollection}, o.Collections...) {
		if !slices.Contains(o.Keep, name) {
			add(name, store.Spec{Kind: store.KindBoxes})
		}
	}
	for _, name := range o.Records {
		keep := slices.Contains(o.Keep, name)
		add(name, store.Spec{Kind: store.KindRecords, Keep: keep, Records: store.RecordsOptions{Shards: o.RecordShards, MaxBytes: o.RecordMaxBytes}})
	}
	for _, name := range o.Keep {
		if !slices.Contains(o.Records, name) {
			add(name, keptBoxes)
		}
	}
	for name, f := range o.Features {
		add(name, store.Spec{Features: store.CollectionOptions(f)})
	}
	return all
}

// keptBoxes is the spec of a collection of boxes that is kept.
var keptBoxes = store.Spec{Kind: store.KindBoxes, Keep: true}

// create creates a collection, unless there is one of that name as spec says.
func (s *Server) create(name string, spec store.Spec) (*collection, error) {
	c, err := s.store.Create(name, spec)
	if errors.Is(err, model.ErrName) {
		return nil, fmt.Errorf("%w: %w", model.ErrOption, err)
	}
	return c, err
}

// openStore makes the server's store, and opens its directory. Meanwhile the kept
// collections are loaded, and calls for them fail with ErrNotReady.
func (s *Server) openStore() (err error) {
	s.store, err = store.New(store.Options{
		Dir: s.opts.DataDir, Sync: s.opts.Sync, LogBytes: s.opts.LogBytes, AcceptLoss: s.opts.AcceptLoss,
		Replicated: s.opts.member.on, StoreID: s.opts.member.store,
		SlabBytes: s.opts.SlabBytes, NodeBytes: s.opts.NodeBytes, Strategy: s.opts.Strategy, BootID: s.bootID,
		Memory: s.newSlab, Owner: owner{s}, Collections: s.opts.specs(), Logger: s.log, Now: s.now, Watch: s.opts.Watch,
	})
	if err != nil {
		return err
	}
	if s.opts.DataDir != "" {
		s.serving.Go(s.loadStore) // Close waits for it.
		return nil
	}
	s.loadStore()
	return s.store.Ready()
}

func (s *Server) loadStore() {
	began := time.Now()
	err := s.store.Load(s.ctx)
	// Close waits for requests that wait for the disk.
	context.AfterFunc(s.ctx, s.store.GiveUp)
	switch {
	case err != nil:
		s.log.Error("the store cannot be opened", "dir", s.opts.DataDir, "err", err)
	case s.opts.DataDir != "":
		s.log.Info("store opened", "dir", s.opts.DataDir, "took", time.Since(began).Round(time.Millisecond))
	}
}

// newSlab makes one part of a collection's memory (store.Options.Memory).
func (s *Server) newSlab(name string, part store.Part, bytes int64) (store.Memory, error) {
	slab := &slabMemory{doubles: part == store.IndexPart}
	if err := slab.make(s.fabrics, fmt.Sprintf("%s (%v)", name, part), bytes, s.opts.hooks.FirstPinned); err != nil {
		return store.Memory{}, err
	}
	m := store.Memory{Bytes: slab.mem, Grow: slab.grower(), Revoke: slab.revoke, Free: slab.close, Of: slab}
	if m.Grow == nil {
		m.GiveBack = mapped.GiveBack // What is pinned cannot be given back.
	}
	return m, nil
}

// owner is the server as its store's Owner.
type owner struct{ s *Server }

// Attach is for the store.
func (owner) Attach(c *collection) { c.Attached = new(attached) }

// Swapped is for the store. Clients read by an old name for as long as their leases of it
// last.
func (o owner) Swapped(before, now [2]*collection) func(context.Context) error {
	until := time.Duration(0)
	for i, c := range before {
		if at := attachedTo(c).opened.Load(); at != 0 {
			until = max(until, time.Duration(at)+o.s.nameLease())
			// A second swap of the name meanwhile waits for these leases, too. If a client
			// has opened the new one since, that time is later.
			attachedTo(now[i]).opened.CompareAndSwap(0, at)
		}
	}
	return func(ctx context.Context) error {
		wait := time.NewTimer(until - wire.Monotonic())
		defer wait.Stop()
		a, b := before[0].Name, before[1].Name
		select {
		case <-wait.C:
			return nil
		case <-o.s.ctx.Done():
			return fmt.Errorf("%w: %q and %q are swapped, clients may not know it", model.ErrClosed, a, b)
		case <-ctx.Done():
			return fmt.Errorf("catfish: %q and %q are swapped, clients may not know it: %w", a, b, ctx.Err())
		}
	}
}

// now is the time by which records expire, since the Unix epoch. It does not
// follow the system's clock when that is set.
func (s *Server) now() time.Duration {
	if s.opts.hooks.Now != nil {
		return s.opts.hooks.Now()
	}
	return time.Duration(s.started.UnixNano()) + time.Since(s.started)
}

// tidyStore frees what records leave behind, until ctx is done.
func (s *Server) tidyStore(ctx context.Context) error {
	store.EveryTick(ctx, func(turn int) {
		s.uploads.expire(s.now())
		if turn%watchSweep == 0 {
			s.watchSets.expire(s.now())
		}
		s.store.Tidy(turn)
	})
	return nil
}
