package server

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/access"
	"github.com/catfish-index/catfish/internal/catfishtest"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/wire"
)

// keyFile makes a file with a key for each list of roles.
func keyFile(t testing.TB, entries ...access.Entry) (keys *Keys, file string, texts []string) {
	t.Helper()
	file, texts = catfishtest.KeyFile(t, entries...)
	keys, err := OpenKeys(file, quiet())
	if err != nil {
		t.Fatal(err)
	}
	return keys, file, texts
}

// Each kind of request has a role, so that a new one cannot be forgotten.
func TestEveryKindHasARole(t *testing.T) {
	for k := wire.KindOpen; k <= wire.LastRequest; k++ {
		if _, ok := kindRoles[k]; !ok {
			t.Errorf("request kind %d has no role in kindRoles", k)
		}
	}
	if needs[wire.LastRequest+1] != access.Admin || needs[0] != access.Admin {
		t.Error("an unknown kind is open")
	}
}

// A collection that takes another one's slot does not take over a key's role for the
// old one.
func TestRolesOfANewCollection(t *testing.T) {
	keys, _, k := keyFile(t, access.Entry{Roles: []string{"mine*:admin"}})
	s := startServer(t, Options{Keys: keys})
	g, err := s.access.byKey(k[0])
	if err != nil {
		t.Fatal(err)
	}
	number := func(name string) uint32 {
		if _, err := s.CreateCollection(name); err != nil {
			t.Fatal(err)
		}
		c, err := s.store.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		return c.Number
	}
	check := func(num uint32) error {
		return g.check(s, wire.KindInsert, binary.LittleEndian.AppendUint64(nil, uint64(num)))
	}
	mine := number("mine")
	if err := check(mine); err != nil {
		t.Fatal(err)
	}
	if _, err := s.DropCollection("mine"); err != nil {
		t.Fatal(err)
	}
	waitDropped(s)
	if err := check(mine); err == nil {
		t.Log("a dropped collection is still permitted, as the request itself finds out")
	}
	other := number("other")
	if other%store.MaxCollections != mine%store.MaxCollections || other == mine {
		t.Fatalf("numbers %#x and %#x, want the same slot", mine, other)
	}
	if err := check(other); !errors.Is(err, access.ErrPermission) {
		t.Errorf("another collection in its place: %v", err)
	}
}

// A backup contains all collections, and only an admin of all may make it; so it is with the load of slots.
func TestRoleOfBackups(t *testing.T) {
	keys, _, k := keyFile(t, access.Entry{Roles: []string{"*:write", "a*:admin", "default:admin"}}, access.Entry{Roles: []string{"*:admin"}})
	s := startServer(t, Options{Keys: keys})
	for i, want := range []error{access.ErrPermission, nil} {
		g, err := s.access.byKey(k[i])
		if err != nil {
			t.Fatal(err)
		}
		if err := g.check(s, wire.KindBackup, []byte("a backup")); !errors.Is(err, want) {
			t.Errorf("key %d: %v, want %v", i, err, want)
		}
		for _, kind := range []fastmsg.Kind{wire.KindSlotLoad, wire.KindSlotRequests} {
			if err := g.check(s, kind, nil); !errors.Is(err, want) {
				t.Errorf("the load of slots, kind %d, key %d: %v, want %v", kind, i, err, want)
			}
		}
	}
}

// A key that swaps two collections must be admin of both.
func TestRoleOfSwaps(t *testing.T) {
	keys, _, k := keyFile(t, access.Entry{Roles: []string{"a:admin", "*:write"}}, access.Entry{Roles: []string{"b:admin"}},
		access.Entry{Roles: []string{"a:admin", "b:admin"}})
	s := startServer(t, Options{Keys: keys})
	for i, want := range []error{access.ErrPermission, access.ErrPermission, nil} {
		g, err := s.access.byKey(k[i])
		if err != nil {
			t.Fatal(err)
		}
		for _, names := range [][2]string{{"a", "b"}, {"b", "a"}} {
			if err := g.check(s, wire.KindSwap, wire.AppendText(wire.AppendText(nil, names[0]), names[1])); !errors.Is(err, want) {
				t.Errorf("key %d, %v: %v, want %v", i, names, err, want)
			}
		}
		if err := g.check(s, wire.KindSwap, []byte{9}); !errors.Is(err, model.ErrProtocol) {
			t.Error(err)
		}
	}
}

// Requests are batched unless they are counted, refused, or sent with a key that
// has ended.
func TestMayBatch(t *testing.T) {
	keys, file, k := keyFile(t, access.Entry{Roles: []string{"default:read"}},
		access.Entry{Roles: []string{"default:read"}, Rate: 1000}, access.Entry{Roles: []string{"x:read"}},
		access.Entry{Name: "ended", Roles: []string{"default:read"}})
	s := startServer(t, Options{Keys: keys})
	c, err := s.store.Lookup(model.DefaultCollection)
	if err != nil {
		t.Fatal(err)
	}
	p := binary.LittleEndian.AppendUint64(nil, uint64(c.Number))
	var guards []*guard
	for _, key := range k {
		g, err := s.access.byKey(key)
		if err != nil {
			t.Fatal(err)
		}
		guards = append(guards, g)
	}
	if _, err := access.Revoke(file, "ended"); err != nil {
		t.Fatal(err)
	}
	if err := keys.Reload(); err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{true, false, false, false} {
		if got := guards[i].mayBatch(s, wire.KindSearch, p); got != want {
			t.Errorf("key %d: %v, want %v", i, got, want)
		}
	}
	if (*guard)(nil).mayBatch(s, wire.KindSearch, p) || !errors.Is((*guard)(nil).check(s, wire.KindSearch, p), model.ErrUnauthenticated) {
		t.Error("a connection without a guard is served")
	}
}

// The end of a key wakes workers: a worker whose clients send nothing does not tick, and
// a watch of a quiet collection would continue until its next request.
func TestEndOfAKeyWakesWorkers(t *testing.T) {
	keys, file, k := keyFile(t, access.Entry{Name: "goes", Roles: []string{"*:read"}})
	woken := make(chan struct{})
	g := newGatekeeper(keys, func() { close(woken) })
	if _, err := g.byKey(k[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := access.Revoke(file, "goes"); err != nil {
		t.Fatal(err)
	}
	if err := keys.Reload(); err != nil {
		t.Fatal(err)
	}
	<-woken
	if g.ends.Load() != 1 {
		t.Error("workers would not look")
	}
}

// The check of a request allocates nothing.
func TestAccessAllocations(t *testing.T) {
	keys, _, k := keyFile(t, access.Entry{Roles: []string{"*:write"}})
	s := startServer(t, Options{Keys: keys})
	g, err := s.access.byKey(k[0])
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.store.Lookup(model.DefaultCollection)
	if err != nil {
		t.Fatal(err)
	}
	p := binary.LittleEndian.AppendUint64(nil, uint64(c.Number))
	if n := testing.AllocsPerRun(100, func() {
		if err := g.check(s, wire.KindInsert, p); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
	if err := g.check(s, wire.KindCheck, p); !errors.Is(err, access.ErrPermission) {
		t.Errorf("check with role write: %v", err)
	}
}

func BenchmarkAccess(b *testing.B) {
	keys, _, k := keyFile(b, access.Entry{Roles: []string{"*:write"}})
	s := startServer(b, Options{Keys: keys})
	g, err := s.access.byKey(k[0])
	if err != nil {
		b.Fatal(err)
	}
	p := make([]byte, 8)
	for b.Loop() {
		if err := g.check(s, wire.KindSearch, p); err != nil {
			b.Fatal(err)
		}
	}
}
