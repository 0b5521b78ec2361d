package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/catfish-index/catfish/internal/catfishtest"
	"github.com/catfish-index/catfish/internal/coord"
	"github.com/catfish-index/catfish/internal/fault"
	"github.com/catfish-index/catfish/internal/store/disk"
)

// memDecider is a coordinator in memory.
type memDecider struct {
	mu    sync.Mutex
	more  *sync.Cond
	value map[string]coord.Value
	last  int64
	deaf  atomic.Bool   // its answers are lost
	alone atomic.Bool   // it takes no group with more than one in sync
	held  atomic.Int64  // how often it took none
	lost  chan struct{} // has one after an answer was lost
}

func newDecider() *memDecider {
	d := &memDecider{value: map[string]coord.Value{}, lost: make(chan struct{}, 1)}
	d.more = sync.NewCond(&d.mu)
	return d
}

func (d *memDecider) Get(ctx context.Context, key string) (coord.Value, error) {
	if d.loses(ctx) {
		return coord.Value{}, coord.ErrAway
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	v := d.value[key]
	v.Key = key
	return v, nil
}

func (d *memDecider) Swap(ctx context.Context, key string, version int64, value []byte) (int64, error) {
	if g, err := Parse(coord.Value{Key: key, Bytes: value}); d.alone.Load() && err == nil && len(g.InSync) > 1 {
		d.held.Add(1)
		return 0, coord.ErrAway
	}
	v, err := d.swap(key, version, value)
	if d.loses(ctx) {
		return 0, coord.ErrUnknown
	}
	return v, err
}

func (d *memDecider) swap(key string, version int64, value []byte) (int64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.value[key].Version != version {
		return 0, coord.ErrConflict
	}
	d.last++
	d.value[key] = coord.Value{Key: key, Bytes: bytes.Clone(value), Version: d.last}
	d.more.Broadcast()
	return d.last, nil
}

func (d *memDecider) Watch(ctx context.Context, _ string, wake func()) {
	stop := context.AfterFunc(ctx, func() { d.mu.Lock(); d.more.Broadcast(); d.mu.Unlock() })
	defer stop()
	d.mu.Lock()
	defer d.mu.Unlock()
	for ctx.Err() == nil {
		d.more.Wait()
		d.mu.Unlock()
		wake()
		d.mu.Lock()
	}
}

// logStore is a store that has the log alone.
type logStore struct {
	db    *disk.DB
	mu    sync.Mutex
	extra []byte // a file that its checkpoints have beside the log
}

func (s *logStore) Revision() uint64   { return s.db.Revision() }
func (s *logStore) Durable() uint64    { return s.db.Revision() }
func (s *logStore) Terms() []disk.Span { return s.db.Terms() }

func (s *logStore) Copy(dir string) error {
	err := s.db.Copy(dir)
	if err == nil && s.extra != nil {
		err = os.WriteFile(filepath.Join(dir, "extra"), s.extra, 0o600)
	}
	return err
}

func (s *logStore) FirstLogged() uint64 {
	first, err := s.db.First()
	if err != nil {
		panic(err)
	}
	return first
}

func (s *logStore) Log(from uint64) (*disk.LogIter, error) { return s.db.Log(from) }

func (s *logStore) Apply(entries []disk.Entry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(entries) > 0 && entries[0].Revision <= s.db.Revision() {
		entries = entries[1:]
	}
	return s.db.Commit(entries)
}

// member is one of a test's group.
type member struct {
	name  string
	dir   string
	fs    vfs.FS
	store *logStore
	node  *Node
	rings *testRings
}

type group struct {
	t       *testing.T
	decider *memDecider
	members []*member

	value     []byte                             // of the next write, nil: "v"
	prepare   func(m *member, term uint64) error // nil: members are ready at once
	transport string                             // of lanes; tcp: they have no rings
	change    func(*Rings)
	at        sync.Map // where devices listen, by the address of the member
}

// groups runs a test over each transport.
func groups(t *testing.T, n int, test func(g *group)) {
	t.Run("transport="+streamTransport, func(t *testing.T) { test(testGroup(t, n)) })
	ringGroups(t, n, test)
}

// ringGroups runs a test over each transport with rings.
func ringGroups(t *testing.T, n int, test func(g *group)) {
	for _, tr := range testTransports() {
		t.Run("transport="+tr, func(t *testing.T) { test(groupOver(t, n, tr)) })
	}
}

func testGroup(t *testing.T, n int) *group { return groupOver(t, n, streamTransport) }

// groupOver is a group whose lanes have a transport.
func groupOver(t *testing.T, n int, transport string) *group {
	return groupWith(t, n, transport, func(*Rings) {})
}

// groupWith is one with other rings.
func groupWith(t *testing.T, n int, transport string, change func(*Rings)) *group {
	g := &group{t: t, decider: newDecider(), transport: transport, change: change}
	for i := range n {
		m := &member{name: fmt.Sprintf("n%d", i+1), dir: filepath.Join(t.TempDir(), "data"), fs: vfs.Default}
		g.members = append(g.members, m)
		g.start(m)
	}
	t.Cleanup(func() {
		for _, m := range g.members {
			g.stop(m)
		}
	})
	return g
}

func (g *group) start(m *member) {
	g.t.Helper()
	db, err := disk.Open(m.dir, disk.Options{FS: m.fs})
	if err != nil {
		g.t.Fatal(err)
	}
	m.store = &logStore{db: db}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		g.t.Fatal(err)
	}
	m.rings = g.openRings(l.Addr().String())
	var prepare func(context.Context, uint64) error
	if g.prepare != nil {
		prepare = func(_ context.Context, term uint64) error { return g.prepare(m, term) }
	}
	m.node, err = Start(g.t.Context(), Options{
		Prepare: prepare,
		Group:   "g", Name: m.name, Addr: l.Addr().String(), Dir: m.dir, StoreID: "s", Store: m.store, Coord: g.decider,
		Lanes: l, Dial: dialTCP, Rings: g.rings(),
		Logger: slog.New(slog.NewTextHandler(testWriter{g.t}, nil)),
	})
	if err != nil {
		g.t.Fatal(err)
	}
	m.rings.serve(m.node)
}

func dialTCP(ctx context.Context, addr string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "tcp", addr)
}

type testWriter struct{ t *testing.T }

func (w testWriter) Write(b []byte) (int, error) {
	w.t.Logf("%s", bytes.TrimSpace(b))
	return len(b), nil
}

func (g *group) stop(m *member) {
	if m.node != nil {
		_ = m.node.Close()
		m.rings.close()
		_ = m.store.db.Close()
		m.node = nil
	}
}

// write writes an entry through the primary, and returns its revision.
func (g *group) write(key string) uint64 {
	g.t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		for _, m := range g.members {
			if m.node == nil || !m.node.Status().Leading {
				continue
			}
			m.store.mu.Lock()
			e := disk.Entry{Collection: 1, Kind: disk.Put, Key: []byte(key), Value: []byte("v"), Revision: m.store.Revision() + 1}
			if e.Revision == 2 {
				e = disk.Entry{Collection: 1, Kind: disk.Create, Key: []byte("c"), Value: []byte("{}"), Revision: 2}
			}
			if g.value != nil {
				e.Value = g.value
			}
			err := m.node.Propose([]disk.Entry{e})
			if err == nil {
				err = m.store.db.Commit([]disk.Entry{e})
			}
			m.store.mu.Unlock()
			switch {
			case err == nil && e.Kind == disk.Put:
				return e.Revision
			case err != nil && !errors.Is(err, fault.ErrNotPrimary) && !errors.Is(err, fault.ErrUnknownOutcome):
				g.t.Fatal(err)
			}
		}
	}
	g.t.Fatal("no member takes writes")
	return 0
}

// has waits until a member's log has an entry.
func (g *group) has(m *member, revision uint64, key string) {
	g.t.Helper()
	for end := time.Now().Add(20 * time.Second); m.store.Revision() < revision; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			g.t.Fatalf("%s is at revision %d, want %d: %+v", m.name, m.store.Revision(), revision, m.node.Status())
		}
	}
	it, err := m.store.Log(revision)
	if err != nil || !it.Next() {
		g.t.Fatal(err)
	}
	defer it.Close()
	if e := it.Entry(); string(e.Key) != key {
		g.t.Fatalf("%s has %q at revision %d, want %q", m.name, e.Key, revision, key)
	}
}

func (g *group) inSync(n int) {
	g.t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		v, _ := g.decider.Get(context.Background(), Key("g"))
		if is, err := Parse(v); err == nil && len(is.InSync) == n {
			return
		}
		if time.Now().After(end) {
			g.t.Fatalf("not %d in sync: %s", n, v.Bytes)
		}
	}
}

func (g *group) primary() *member {
	for _, m := range g.members {
		if m.node != nil && m.node.Status().Leading {
			return m
		}
	}
	return nil
}

// A switch loses no write, and the old primary follows at once.
func TestSwitch(t *testing.T) {
	groups(t, 2, testSwitch)
}

func testSwitch(g *group) {
	t := g.t
	g.inSync(2)
	r := g.write("a")
	old := g.primary()
	to := g.members[0]
	if to == old {
		to = g.members[1]
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := Switch(ctx, g.decider, "g", to.name); err != nil {
		t.Fatal(err)
	}
	r2 := g.write("b")
	g.has(to, r, "a")
	g.has(old, r2, "b")
	if err := Switch(ctx, g.decider, "g", "n9"); !errors.Is(err, ErrNoMember) {
		t.Error(err)
	}
	if err := Remove(ctx, g.decider, "g", to.name); !errors.Is(err, ErrRefused) {
		t.Error(err)
	}
	if err := Remove(ctx, g.decider, "g", old.name); err != nil {
		t.Error(err)
	}
	g.inSync(1)
}

// A primary that ends hands over to a member that runs, although another one in sync
// has just gone.
func TestLeave(t *testing.T) {
	for away := range 2 {
		g := testGroup(t, 3)
		g.inSync(3)
		r := g.write("a")
		old := g.primary()
		var rest []*member
		for _, m := range g.members {
			if m != old {
				rest = append(rest, m)
			}
		}
		g.stop(rest[away])
		began := time.Now()
		old.node.Leave(10 * time.Second)
		if d := time.Since(began); old.node.Status().Leading || d > 5*time.Second {
			t.Errorf("with %s away: still the primary %v after %v", rest[away].name, old.node.Status().Leading, d)
		}
		g.stop(old)
		next := rest[1-away]
		g.has(next, r, "a")
		g.has(next, g.write("b"), "b")
	}
}

// Without a member that could take over, a primary ends at once.
func TestLeaveAlone(t *testing.T) {
	g := testGroup(t, 1)
	g.write("a")
	began := time.Now()
	g.members[0].node.Leave(20 * time.Second)
	if d := time.Since(began); d > 5*time.Second {
		t.Errorf("it waits %v for nobody", d)
	}
}

// A primary that ends alone in sync waits for a learner, and hands over to it.
func TestLeaveToLearner(t *testing.T) {
	g := testGroup(t, 2)
	g.inSync(2)
	g.write("a")
	old := g.primary()
	learner := g.members[0]
	if learner == old {
		learner = g.members[1]
	}
	g.stop(learner)
	g.inSync(1)
	g.decider.alone.Store(true)
	g.start(learner)
	next := func() {
		held := g.decider.held.Load()
		catfishtest.Eventually(t, "the decider is asked again", func() bool { return g.decider.held.Load() > held })
	}
	next() // It could be in sync now.
	left := make(chan struct{})
	go func() {
		defer close(left)
		old.node.Leave(20 * time.Second)
	}()
	next()
	next()
	g.decider.alone.Store(false)
	<-left
	if old.node.Status().Leading {
		t.Error("it is still the primary")
	}
	g.stop(old)
	g.has(learner, g.write("b"), "b")
}

// A member that makes a group without data, and ends before it joins, lets no other wait:
// the first one that joins is the primary, with the bounds of the member that made it.
func TestMakerEnds(t *testing.T) {
	d := newDecider()
	o := Options{Group: "g", Name: "n1", StoreID: "s", Coord: d, MinInSync: 2}
	if err := Make(t.Context(), o, false); err != nil {
		t.Fatal(err)
	}
	if err := Make(t.Context(), o, false); !errors.Is(err, coord.ErrConflict) {
		t.Errorf("making it again: %v", err)
	}
	second := Options{Group: "g", Name: "n2", Addr: "here:1", StoreID: "s", Coord: d}
	g, err := join(t.Context(), &second, 7, 0)
	if err != nil || g.Primary != "n2" || g.MinInSync != 2 || len(g.Members) != 1 || g.Members[0].Addr != "here:1" {
		t.Fatalf("%+v, %v", g, err)
	}
	o.Addr = "here:2"
	if g, err = join(t.Context(), &o, 8, 0); err != nil || g.Primary != "n2" || len(g.Members) != 2 || len(g.InSync) != 1 {
		t.Errorf("%+v, %v", g, err)
	}
	// With data, no other can be the first.
	o.Group = "h"
	if err := Make(t.Context(), o, true); err != nil {
		t.Fatal(err)
	}
	second.Group = "h"
	if g, err = join(t.Context(), &second, 9, 0); err != nil || g.Primary != "n1" {
		t.Errorf("%+v, %v", g, err)
	}
}

// When the coordinators have lost a group, its terms continue with those of the primary's
// log; a member with a later term is no follower of it.
func TestLostTerms(t *testing.T) {
	d := newDecider()
	o := Options{Group: "g", Name: "n1", Addr: "here:1", StoreID: "s", Coord: d}
	g, err := join(t.Context(), &o, 1, 7)
	if err != nil || g.Term != 7 {
		t.Fatalf("%+v, %v", g, err)
	}
	o.Name = "n2"
	if _, err := join(t.Context(), &o, 2, 8); !errors.Is(err, ErrLostTerms) || !strings.Contains(err.Error(), "term 8") {
		t.Errorf("a member with a later term: %v", err)
	}
	if g, err = join(t.Context(), &o, 2, 7); err != nil || g.Primary != "n1" || g.Term != 7 {
		t.Errorf("%+v, %v", g, err)
	}
}

// What is written at the primary is in all members; when the primary ends, another takes
// over with all of it, and the old one follows when it is started again.
func TestFailover(t *testing.T) {
	groups(t, 3, testFailover)
}

func testFailover(g *group) {
	g.inSync(3)
	r := g.write("a")
	for _, m := range g.members {
		g.has(m, r, "a")
	}
	old := g.primary()
	g.stop(old)
	r2 := g.write("b")
	for _, m := range g.members {
		if m != old {
			g.has(m, r, "a")
			g.has(m, r2, "b")
		}
	}
	g.start(old)
	g.inSync(3)
	r3 := g.write("c")
	g.has(old, r2, "b")
	g.has(old, r3, "c")
}

// A member that takes part no more refuses writes, and lets none wait.
func TestFailedMemberRefuses(t *testing.T) {
	g := testGroup(t, 1)
	g.write("a")
	m := g.primary()
	m.node.Failed(errors.New("a test"))
	catfishtest.Eventually(t, "the member has failed", func() bool { return m.node.Status().Failed })
	err := m.node.Propose([]disk.Entry{{Collection: 1, Kind: disk.Put, Key: []byte("b"), Revision: m.store.Revision() + 1}})
	if !errors.Is(err, fault.ErrNotPrimary) {
		t.Error(err)
	}
}
