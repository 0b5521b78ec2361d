package server

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/access"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/rstar"
)

// A server with keys (Options.Keys) serves only clients that have one. A key is
// too long for the hello of a connection over RDMA, so a client shows it once, over
// the TCP port, and gets a ticket of 63 bits for it:
//
//	client                                    server
//	  hello ---------------------------------> "key": true
//	  stream of kind key, with the key ------> ticket, or why not
//	  ring, read channels, plain socket,
//	  each with the ticket in its hello -----> the key's guard
//
// A ticket stands for its key until the key or the server ends. It cannot be
// guessed: each attempt is a connection. When a key ends, the rings, plain sockets
// and read channels that were connected with it end, too.
//
// Each request is checked: the key must not have ended, must have some of its rate
// left, and must have the role that the kind of request needs for the collection. To
// read a collection's memory a client has to know where it is. For that it has to open
// the collection, which needs role read. docs/security.md says what is not protected.

// Keys are the keys that a server takes, and what each may do.
type Keys = access.Keys

// OpenKeys reads a file of keys, which 'catfish keys' makes. A Server that has these
// keys reads the file again when it changes; without a Server, Keys.Watch does.
func OpenKeys(file string, log *slog.Logger) (*Keys, error) { return access.Open(file, log, nil) }

// kindRoles are the roles that requests need. Any other kind needs Admin, so that
// one that was forgotten here is not open to all.
var kindRoles = map[fastmsg.Kind]access.Role{
	wire.KindOpen: access.Read, wire.KindSearch: access.Read, wire.KindCount: access.Read, wire.KindNearest: access.Read,
	wire.KindSearchMany: access.Read, wire.KindWithin: access.Read,
	wire.KindGet: access.Read, wire.KindAwait: access.Read, wire.KindScan: access.Read, wire.KindRenew: access.Read,
	wire.KindInsert: access.Write, wire.KindDelete: access.Write, wire.KindUpdate: access.Write, wire.KindInsertMany: access.Write,
	wire.KindPut: access.Write, wire.KindAppend: access.Write, wire.KindRemove: access.Write, wire.KindPart: access.Write,
	wire.KindFind: access.Read, wire.KindNear: access.Read, wire.KindCountFeatures: access.Read, wire.KindWatch: access.Read,
	wire.KindStore: access.Write, wire.KindErase: access.Write, wire.KindPatch: access.Write, wire.KindEraseWhere: access.Write,
	wire.KindCreate: access.Admin, wire.KindCreateFeatures: access.Admin, wire.KindCreateRecords: access.Admin, wire.KindDrop: access.Admin,
	wire.KindCreateKept: access.Admin,
	wire.KindCheck:      access.Admin, // Writers wait for it.
	wire.KindBackup:     access.Admin, // Of all collections.
	wire.KindDescribe:   access.Read, wire.KindPick: access.Read,
	wire.KindSwap:     access.Admin, // Of both.
	wire.KindNamed:    access.Admin, // It is unpacked before.
	wire.KindStats:    access.None,  // It shows what the key may read.
	wire.KindLease:    access.None,
	wire.KindMap:      access.None,
	wire.KindSlotLoad: access.Admin, wire.KindSlotRequests: access.Admin, // Of all collections.
	// Plans of moves, which are of all collections, need it.
	wire.KindBoxSample: access.Admin,
}

// needs is kindRoles as a table.
var needs = func() (t [256]access.Role) {
	for k := range t {
		t[k] = access.Admin
		if r, ok := kindRoles[fastmsg.Kind(k)]; ok {
			t[k] = r
		}
	}
	return t
}()

// gatekeeper knows the tickets of a server.
type gatekeeper struct {
	keys *Keys
	wake func() // makes workers look at ends; wakes those that sleep

	mu      sync.Mutex
	of      map[*access.Principal]*guard
	tickets map[uint64]*guard
	// ends counts the keys that have ended. When it changes, workers look which of
	// their connections had one of those keys.
	ends atomic.Uint64
}

// newGatekeeper returns nil if there are no keys.
func newGatekeeper(keys *Keys, wake func()) *gatekeeper {
	if keys == nil {
		return nil
	}
	return &gatekeeper{keys: keys, wake: wake, of: map[*access.Principal]*guard{}, tickets: map[uint64]*guard{}}
}

// guard checks the requests of a key.
type guard struct {
	principal *access.Principal
	ticket    uint64
	forget    func() bool // cancels what the key's end would do
	// roles are what the key may do with each collection, by slot: the
	// collection's number, and the role. 0: not known yet. Numbers are never used
	// twice, and neither a collection's name nor a key's roles change.
	roles [store.MaxCollections]atomic.Uint64
}

// byKey returns the guard of a key.
func (g *gatekeeper) byKey(key string) (*guard, error) {
	p, err := g.keys.Authenticate(key)
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if known := g.of[p]; known != nil {
		return known, nil
	}
	n := &guard{principal: p}
	for n.ticket == 0 || g.tickets[n.ticket] != nil {
		var b [8]byte
		if _, err := rand.Read(b[:]); err != nil {
			return nil, fmt.Errorf("%w: no random bits: %w", model.ErrServer, err)
		}
		n.ticket = binary.LittleEndian.Uint64(b[:]) >> 1
	}
	g.of[p], g.tickets[n.ticket] = n, n
	n.forget = p.OnEnd(func() {
		g.mu.Lock()
		delete(g.of, p)
		delete(g.tickets, n.ticket)
		g.mu.Unlock()
		g.ends.Add(1)
		g.wake()
	})
	return n, nil
}

// close unsubscribes from the keys, which other servers may use.
func (g *gatekeeper) close() {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, n := range g.of {
		n.forget()
	}
}

// byTicket returns the guard of a ticket.
func (g *gatekeeper) byTicket(ticket uint64) (*guard, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := g.tickets[ticket]
	if n == nil || n.principal.Ended() {
		return nil, fmt.Errorf("%w: ask for a ticket, with a key", model.ErrUnauthenticated)
	}
	return n, nil
}

// check says whether a request may be carried out. g is nil if the connection's
// key had ended before it was served.
func (g *guard) check(s *Server, kind fastmsg.Kind, p []byte) error {
	if g == nil {
		return model.ErrUnauthenticated
	}
	if err := g.permits(s, kind, p); err != nil {
		return err
	}
	return g.principal.Admit()
}

// permits is check without the key's rate and its end.
func (g *guard) permits(s *Server, kind fastmsg.Kind, p []byte) error {
	need := needs[kind]
	switch kind {
	case wire.KindStats, wire.KindLease, wire.KindMap:
		return nil
	case wire.KindOpen, wire.KindCreate, wire.KindCreateKept, wire.KindDrop:
		return g.principal.Check(collectionOf(string(p)), need)
	case wire.KindBackup, wire.KindSlotLoad, wire.KindSlotRequests, wire.KindBoxSample: // Only a role for * is for the name *, and it is for all.
		return g.principal.Check("*", need)
	case wire.KindSwap:
		a, b, err := wire.GetNames(p)
		if err == nil {
			err = g.principal.Check(a, need)
		}
		if err == nil {
			err = g.principal.Check(b, need)
		}
		return err
	case wire.KindCreateRecords:
		_, name, err := wire.GetRecordsOptions(p)
		if err != nil {
			return err
		}
		return g.principal.Check(string(name), need)
	case wire.KindCreateFeatures:
		_, name, err := wire.GetFeaturesOptions(p)
		if err != nil {
			return err
		}
		return g.principal.Check(name, need)
	}
	if len(p) < wire.HeadBytes {
		return fmt.Errorf("%w: request kind %d of %d bytes", model.ErrProtocol, kind, len(p))
	}
	num := binary.LittleEndian.Uint32(p)
	slot := &g.roles[num%store.MaxCollections]
	has := slot.Load()
	if has == 0 || uint32(has>>8) != num {
		c, err := s.store.ByNumber(num)
		if err != nil {
			return err
		}
		has = uint64(num)<<8 | 1<<7 | uint64(g.principal.Role(collectionOf(c.Name)))
		slot.Store(has)
	}
	role := access.Role(has & 0x7f)
	if role >= need {
		return nil
	}
	return g.principal.CheckRole(role, collectionOf(s.store.NameOf(num)), need)
}

// mayBatch reports whether a request may be carried out in a batch with those of
// other clients: one whose key's rate need not be counted. Any other request is served
// alone, and then refused if it has to be.
func (g *guard) mayBatch(s *Server, kind fastmsg.Kind, p []byte) bool {
	return g != nil && !g.principal.Limited() && !g.principal.Ended() && g.permits(s, kind, p) == nil
}

// hide leaves out the collections that the key may not read.
func (g *guard) hide(st *model.ServerStats) {
	hidden := func(name string) bool { return g.principal.Role(name) < access.Read }
	maps.DeleteFunc(st.Collections, func(name string, _ rstar.Stats) bool { return hidden(name) })
	maps.DeleteFunc(st.Records, func(name string, _ model.RecordsStats) bool { return hidden(name) })
	maps.DeleteFunc(st.Features, func(name string, _ model.FeaturesStats) bool { return hidden(name) })
	if hidden("*") { // It counts all collections together.
		st.Store = nil
	}
	var loading []string
	for _, name := range st.Loading {
		if !hidden(name) {
			loading = append(loading, name)
		}
	}
	st.Loading = loading
	st.Kept = slices.DeleteFunc(st.Kept, hidden)
}

// endConns ends a worker's connections whose keys have ended. seen is the
// worker's copy of g.ends.
func (g *gatekeeper) endConns(conns []*fastmsg.Conn, seen *uint64) {
	if g == nil {
		return
	}
	now := g.ends.Load()
	if now == *seen {
		return
	}
	*seen = now
	for _, c := range conns {
		if p, ok := c.Context.(*peer); ok && (p.guard == nil || p.guard.principal.Ended()) {
			c.Fail(fmt.Errorf("%w: the key has ended", model.ErrUnauthenticated))
		}
	}
}
