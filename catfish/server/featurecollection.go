package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/mapped"
	"github.com/catfish-index/catfish/record"
	"github.com/catfish-index/catfish/store"
)

// Collections of features, at the server
//
// They belong to a store (package store), which the server opens with memory that
// clients may read:
//
//	slab    tree of boxes      its ids are references of records
//	heap    records            features, by id
//	index   key index          ids
//
// So a client reads a feature collection as it reads boxes and records: it walks
// the tree, and then reads the records that the leaves refer to; or it looks an id
// up. Writes go through the store's single commit queue, and are answered when the
// commit leader has made them durable (later.go).

// features is the server's store, and the memory of its collections.
type features struct {
	s     *Server
	st    atomic.Pointer[store.Store] // nil: it is not opened yet
	err   atomic.Pointer[error]       // why it could not be opened
	ended chan struct{}               // opening has ended

	mu   sync.Mutex
	made map[string]*collection // collections whose memory was made, by name
}

// openStore opens the server's store. Meanwhile the kept collections are loaded, and
// calls for features fail with ErrNotReady.
func (s *Server) openStore() {
	f := &s.features
	f.s, f.ended, f.made = s, make(chan struct{}), map[string]*collection{}
	open := func() {
		defer close(f.ended)
		began := time.Now()
		st, err := store.Open(s.ctx, store.Options{
			Dir: s.opts.DataDir, Sync: s.opts.Sync, LogBytes: s.opts.LogBytes, AcceptLoss: s.opts.AcceptLoss,
			SlabBytes: s.opts.SlabBytes, NodeBytes: s.opts.NodeBytes, Strategy: s.opts.Strategy, BootID: s.bootID,
			Memory: f.memory, Owner: f, Logger: s.log, Now: s.now, Watch: s.opts.Watch,
		})
		if err == nil {
			// Server.Close waits for requests that wait for the disk.
			context.AfterFunc(s.ctx, st.GiveUp)
			err = f.serve(st)
		}
		if err != nil {
			f.err.Store(&err)
			s.log.Error("the store cannot be opened", "dir", s.opts.DataDir, "err", err)
			return
		}
		if s.opts.DataDir != "" {
			s.log.Info("store opened", "dir", s.opts.DataDir, "collections", len(st.Collections())+len(st.AllBoxes()),
				"took", time.Since(began).Round(time.Millisecond))
		}
	}
	if s.opts.DataDir == "" {
		open()
		return
	}
	go open()
}

// serve lets clients reach the collections of a store that was opened.
func (f *features) serve(st *store.Store) error {
	var all []*collection
	for _, c := range st.Collections() {
		own := f.take(c.Name(), store.Made{Features: c})
		_, fixed := f.s.opts.Features[own.name]
		own.kept = !fixed
		all = append(all, own)
	}
	for _, b := range st.AllBoxes() {
		own := f.take(b.Name(), store.Made{Boxes: b})
		own.kept = !slices.Contains(f.s.opts.Keep, own.name)
		all = append(all, own)
	}
	for _, own := range all {
		if _, err := f.s.colls.adopt(own); err != nil {
			return errors.Join(err, st.Close())
		}
	}
	f.st.Store(st)
	for _, name := range f.s.opts.Keep {
		if _, err := f.s.CreateKept(name); err != nil {
			return err
		}
	}
	for name, o := range f.s.opts.Features {
		if _, err := f.s.CreateFeatures(name, o); err != nil {
			return err
		}
	}
	return nil
}

// take returns the collection whose memory was made for the one of that name; nil: none
// was.
func (f *features) take(name string, m store.Made) *collection {
	f.mu.Lock()
	defer f.mu.Unlock()
	own := f.made[name]
	if own == nil {
		return nil
	}
	delete(f.made, name)
	own.name, own.features, own.boxes = name, m.Features, m.Boxes
	if m.Boxes != nil {
		own.tree = m.Boxes.Tree()
	} else {
		own.tree, own.records = m.Features.Tree(), m.Features.Map()
	}
	own.loading.Store(slices.Contains(f.s.opts.Loading, name))
	return own
}

// memory makes one part of a collection's memory (store.Options.Memory).
func (f *features) memory(name string, part store.Part, bytes int64) (store.Memory, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.made[name]
	if c == nil {
		c = withMemory()
		f.made[name] = c
	}
	slab := map[store.Part]*slabMemory{store.TreePart: c.slab, store.RecordsPart: c.heap, store.IndexPart: c.index}[part]
	slab.doubles = part == store.IndexPart
	if part == store.IndexPart {
		bytes = min(bytes, record.MaxSlabBytes)
	}
	if err := slab.make(f.s.fabrics, fmt.Sprintf("%s (%v)", name, part), bytes, f.s.opts.hooks.FirstPinned); err != nil {
		return store.Memory{}, err
	}
	m := store.Memory{Bytes: slab.mem, Grow: slab.grower(), Free: slab.close}
	if m.Grow == nil {
		m.GiveBack = mapped.GiveBack // What is pinned cannot be given back.
	}
	return m, nil
}

// ready returns the store, or ErrNotReady, or why there is none. The store is ready when
// clients can reach all its collections, and the server's own ones exist.
func (f *features) ready() (*store.Store, error) {
	select {
	case <-f.ended:
	default:
		return nil, fmt.Errorf("%w: the store is being loaded", model.ErrNotReady)
	}
	if st := f.st.Load(); st != nil {
		return st, nil
	}
	if err := f.err.Load(); err != nil {
		return nil, fmt.Errorf("%w: the store could not be opened: %w", model.ErrServer, *err)
	}
	return nil, fmt.Errorf("%w: the server is closing", model.ErrNotReady)
}

// opened is ready without the wait for the server's own collections, for their maker.
func (f *features) opened() (*store.Store, error) {
	if st := f.st.Load(); st != nil {
		return st, nil
	}
	return f.ready()
}

// lookUp finds a collection. If there is none, and the store is not ready and may have
// it, the error is that of ready. lookUp calls ready first: it may change meanwhile.
func (s *Server) lookUp(name string, find func(name string) (*collection, error)) (*collection, error) {
	_, notYet := s.features.ready()
	c, err := find(name)
	if err != nil && notYet != nil {
		return nil, notYet
	}
	return c, err
}

// close closes the store, and with it its collections.
func (f *features) close() {
	if f.ended == nil {
		return
	}
	<-f.ended
	if st := f.st.Swap(nil); st != nil {
		if err := st.Close(); err != nil {
			f.s.log.Error("the store did not close well", "err", err)
		}
	}
}

// CreateFeatures adds a collection of features, unless there is one of that name,
// and returns it, for use in this process concurrently with remote clients.
// ErrKind: there is one of another kind.
func (s *Server) CreateFeatures(name string, o model.FeaturesOptions) (*store.Collection, error) {
	c, err := s.colls.create(name, s, newCollection{features: (*store.CollectionOptions)(&o)}, nil)
	if err != nil {
		return nil, err
	}
	return c.features, nil
}

// Features returns a collection of features, as CreateFeatures does.
func (s *Server) Features(name string) (*store.Collection, error) {
	c, err := s.lookUp(name, s.colls.byName)
	if err == nil {
		err = c.isOf(model.KindFeatures)
	}
	if err != nil {
		return nil, err
	}
	return c.features, nil
}

// AlterFeatures replaces the title and the description of a collection of features
// (store.Store.Alter). ErrNotPermitted: the collection's options are the owner's
// (Options.Features), and the next start would set them again.
func (s *Server) AlterFeatures(name string, o model.FeaturesOptions) error {
	if _, err := s.Features(name); err != nil {
		return err
	}
	st, err := s.features.ready()
	if err != nil {
		return err
	}
	return st.Alter(name, store.CollectionOptions(o))
}

// Store returns the server's store. ErrNotReady: the store is being loaded.
func (s *Server) Store() (*store.Store, error) { return s.features.ready() }

// WaitReady waits until the kept collections are loaded.
func (s *Server) WaitReady(ctx context.Context) error {
	select {
	case <-s.features.ended:
		_, err := s.features.ready()
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *collection) featuresStats() model.FeaturesStats {
	return model.FeaturesStats{CollectionOptions: c.features.Options(), Tree: c.tree.Stats(), Records: c.recordsStats()}
}
