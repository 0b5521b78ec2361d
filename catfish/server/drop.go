package server

import (
	"errors"
	"fmt"
	"strings"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/wire"
)

// Collections come and go while workers and clients search them.
//
// A worker that has looked a collection up may search its tree until the tree is
// closed, and close waits for that search; then the tree looks empty. So an answer
// is given only if the collection is not dropped by then (gone).
//
// A client that offloads reads the memory until its region is closed, and then
// gets an error from the transport. It asks for the collection again, by
// name, and learns that there is none. Clients of shared memory may keep the region
// mapped for longer. The tree in it does not change any more.
//
// A goroutine gives the memory back: closing a tree waits for searches, and a worker
// that waited for its own search would wait for ever. Until then the slot is taken, so
// there are never more slabs than slots.

// DropCollection removes a collection, and reports whether there was one.
// Searches of it fail with ErrUnknownCollection; its tree looks empty and
// refuses writes with rstar.ErrClosed. Its memory is free soon after. The
// default collection cannot be dropped (ErrNotPermitted). ErrNotReady: the store is
// being opened, and may have the collection.
func (s *Server) DropCollection(name string) (bool, error) { return s.colls.drop(s, name, false) }

func (cs *collections) drop(s *Server, name string, byClient bool) (bool, error) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	c, err := s.lookUp(name, cs.byName)
	switch {
	case cs.closed:
		return false, model.ErrClosed
	case err != nil && !errors.Is(err, model.ErrUnknownCollection):
		return false, err
	case err != nil:
		return false, nil
	case name == model.DefaultCollection:
		return false, fmt.Errorf("%w: collection %q always exists", model.ErrNotPermitted, name)
	case byClient && c.account == nil && !c.kept:
		return false, fmt.Errorf("%w: collection %q was not created by a client", model.ErrNotPermitted, name)
	}
	free := func() {
		for _, part := range c.parts() {
			part.close()
		}
	}
	switch {
	case c.features != nil:
		free, err = c.features.Retire()
	case c.boxes != nil:
		free, err = c.boxes.Retire()
	}
	if err != nil {
		return false, err
	}
	for _, part := range c.parts() {
		part.dropped.Store(true)
	}
	cs.rename(func(names map[string]*collection) { delete(names, name) })
	cs.closing.Go(func() {
		free()
		cs.mu.Lock()
		defer cs.mu.Unlock()
		for _, part := range c.parts() {
			slot := part.num % maxCollections
			cs.before[slot].Store(&formerly{part.num, part.name})
			cs.slots[slot].Store(nil)
		}
		c.account.Close()
	})
	return true, nil
}

// gone is an error if the collection was dropped, nil if not.
func (c *collection) gone() error {
	if !c.dropped.Load() {
		return nil
	}
	return fmt.Errorf("%w: %q was dropped", model.ErrUnknownCollection, c.name)
}

// carryOutUnlessGone is carryOut, whose answer counts only if the collection still
// exists afterwards.
func (v *service) carryOutUnlessGone(req *request, out []byte) (_ []byte, done uint64, err error) {
	out, done, err = v.carryOut(req, out)
	if gone := req.coll.gone(); gone != nil && v.rest == nil { // otherwise its steps will notice
		return out, 0, gone
	}
	return out, done, err
}

// manage leaves a client's kindCreate, kindCreateRecords or kindDrop in v.pending.
func (v *service) manage(kind fastmsg.Kind, p []byte) error {
	if v.s.opts.ClientCollections < 0 {
		return fmt.Errorf("%w: the collections of this server are fixed", model.ErrNotPermitted)
	}
	name := string(p)
	var what newCollection
	switch kind {
	case wire.KindDrop:
		v.dropLater(name)
		return nil
	case wire.KindCreateRecords:
		o, rest, err := wire.GetRecordsOptions(p)
		if err != nil {
			return err
		}
		what.records, name = &o, string(rest)
	}
	if err := wire.CheckName(name); err != nil {
		return fmt.Errorf("%w: %w", model.ErrProtocol, err) // the client has checked it
	}
	if err := v.s.CheckMemory(); err != nil {
		return err
	}
	v.createLater(name, what)
	return nil
}

// newClientCollections bounds what each source creates, not the sum: to make room, a
// budget would drop another client's data. The table bounds the total.
func newClientCollections(share int) *limits.Budget {
	return limits.NewBudget("collections that clients created", 1<<62, int64(share))
}

// source names the present request's client in budgets: the user for connections of
// shared memory, the host for others.
func (v *service) source() string {
	if v.peer == nil {
		return "" // this process
	}
	p := v.peer.Peer()
	if i := strings.LastIndex(p, "uid "); i >= 0 && v.transport == model.TransportSHM {
		return p[i:]
	}
	return limits.SourceOf(peerAddr(p))
}

// peerAddr is the text of an address.
type peerAddr string

func (peerAddr) Network() string { return "" }

func (a peerAddr) String() string { return string(a) }
