package access

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/catfish-index/catfish/internal/names"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// clock is a time that tests move.
type clock struct{ ns atomic.Int64 }

func (c *clock) now() time.Time          { return time.Unix(1_800_000_000, c.ns.Load()) }
func (c *clock) advance(d time.Duration) { c.ns.Add(int64(d)) }

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// add adds a key to a file and returns its text.
func add(t testing.TB, file string, e Entry) (Entry, string) {
	t.Helper()
	e, key, err := NewKey(e)
	if err == nil {
		err = Add(file, e)
	}
	if err != nil {
		t.Fatal(err)
	}
	return e, key
}

func open(t testing.TB, file string, c *clock) *Keys {
	t.Helper()
	k, err := Open(file, quiet(), c.now)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestCheck(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys")
	_, reader := add(t, file, Entry{Name: "reader", Roles: []string{"cafes:read"}})
	_, writer := add(t, file, Entry{Name: "writer", Roles: []string{"eu-*:write", "eu-secret:read", "cafes:read"}})
	_, admin := add(t, file, Entry{Name: "admin", Roles: []string{"*:admin"}})
	_, stranger, err := NewKey(Entry{Roles: []string{"*:admin"}})
	if err != nil {
		t.Fatal(err)
	}
	k := open(t, file, new(clock))
	wrong := reader[:len(reader)-1] + "x"
	for _, c := range []struct {
		key, coll string
		need      Role
		want      error
	}{
		{reader, "cafes", Read, nil},
		{reader, "cafes", Write, ErrPermission},
		{reader, "cafes2", Read, ErrPermission},
		{reader, "cafe", Read, ErrPermission},
		{reader, "", Read, ErrPermission},
		{writer, "eu-west", Write, nil},
		{writer, "eu-west", Read, nil},
		{writer, "eu-", Write, nil},
		{writer, "eu", Read, ErrPermission},
		{writer, "eu-west", Admin, ErrPermission},
		{writer, "eu-secret", Write, nil}, // The largest role counts.
		{writer, "cafes", Write, ErrPermission},
		{admin, "whatever", Admin, nil},
		{"", "cafes", Read, ErrUnauthenticated},
		{"catfish_", "cafes", Read, ErrUnauthenticated},
		{strings.Repeat("x", keyBytes), "cafes", Read, ErrUnauthenticated},
		{strings.Repeat("\x00", 1<<20), "cafes", Read, ErrUnauthenticated},
		{wrong, "cafes", Read, ErrUnauthenticated},
		{stranger, "cafes", Read, ErrUnauthenticated},
		{strings.ToUpper(reader), "cafes", Read, ErrUnauthenticated},
		{reader + " ", "cafes", Read, ErrUnauthenticated},
	} {
		if _, err := k.Check(c.key, c.coll, c.need); !errors.Is(err, c.want) || c.want == nil && err != nil {
			t.Errorf("key %.24q, collection %q, %v: %v, want %v", c.key, c.coll, c.need, err, c.want)
		}
	}
}

// The file contains nothing that could be used as a key.
func TestFileHasNoKey(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys")
	e, key := add(t, file, Entry{Name: "a", Roles: []string{"*:read"}})
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	secret := key[len(key)-2*secretSize:]
	if bytes.Contains(text, []byte(secret)) || strings.Contains(e.Hash, secret) {
		t.Error("the file has the secret")
	}
	k := open(t, file, new(clock))
	for _, s := range []string{e.Hash, keyPrefix + e.ID + "_" + strings.TrimPrefix(e.Hash, hashPrefix)} {
		if _, err := k.Authenticate(s); !errors.Is(err, ErrUnauthenticated) {
			t.Errorf("%q is taken for a key: %v", s, err)
		}
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v; want 0600", info.Mode(), err)
	}
}

// Two keys of the same name could be distinguished by their ids only.
func TestNameTaken(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys")
	first, _ := add(t, file, Entry{Name: "web", Roles: []string{"*:read"}})
	add(t, file, Entry{Roles: []string{"*:read"}})
	add(t, file, Entry{Roles: []string{"*:read"}}) // Any number have none.
	second, _, err := NewKey(Entry{Name: "web", Roles: []string{"*:read"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := Add(file, second); !errors.Is(err, ErrNameTaken) {
		t.Errorf("a second key of the name: %v", err)
	}
	if removed, err := Revoke(file, "web"); err != nil || removed.ID != first.ID {
		t.Errorf("revoked %v, %v", removed, err)
	}
	if err := Add(file, second); err != nil {
		t.Errorf("when the name is free again: %v", err)
	}
}

// A key of one request a second can still finish a command, which sends several.
func TestLeastBurst(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys")
	_, slow := add(t, file, Entry{Roles: []string{"*:read"}, Rate: 0.5})
	_, fast := add(t, file, Entry{Roles: []string{"*:read"}, Rate: 20})
	_, strict := add(t, file, Entry{Roles: []string{"*:read"}, Rate: 20, Burst: 1})
	k := open(t, file, new(clock))
	for key, want := range map[string]int{slow: 10, fast: 20, strict: 1} {
		n := 0
		for ; n < 100; n++ {
			if _, err := k.Check(key, "a", Read); err != nil {
				break
			}
		}
		if n != want {
			t.Errorf("%d requests at once, want %d", n, want)
		}
	}
}

func TestRate(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys")
	_, key := add(t, file, Entry{Roles: []string{"*:read"}, Rate: 10, Burst: 3})
	_, free := add(t, file, Entry{Roles: []string{"*:read"}})
	c := new(clock)
	k := open(t, file, c)
	for range 3 {
		if _, err := k.Check(key, "a", Read); err != nil {
			t.Fatal(err)
		}
	}
	// Refused requests cost nothing, however many.
	for range 100 {
		_, err := k.Check(key, "a", Read)
		var limited *RateLimitedError
		if !errors.Is(err, ErrRateLimited) || !errors.As(err, &limited) || limited.RetryAfter != 100*time.Millisecond {
			t.Fatalf("4th request: %v, want ErrRateLimited with 100 ms", err)
		}
	}
	c.advance(99 * time.Millisecond)
	if _, err := k.Check(key, "a", Read); !errors.Is(err, ErrRateLimited) {
		t.Errorf("after 99 ms: %v", err)
	}
	c.advance(2 * time.Millisecond)
	if _, err := k.Check(key, "a", Read); err != nil {
		t.Errorf("after 101 ms: %v", err)
	}
	// A reload that does not change the entry does not fill its bucket.
	if err := k.Reload(); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Check(key, "a", Read); !errors.Is(err, ErrRateLimited) {
		t.Errorf("after a reload: %v", err)
	}
	for range 1000 {
		if _, err := k.Check(free, "a", Read); err != nil {
			t.Fatal(err)
		}
	}
}

func TestExpiry(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys")
	c := new(clock)
	_, key := add(t, file, Entry{Roles: []string{"*:read"}, Expires: c.now().Add(time.Hour).Format(time.RFC3339)})
	k := open(t, file, c)
	p, err := k.Authenticate(key)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan bool)
	p.OnEnd(func() { close(ended) })
	c.advance(time.Hour - time.Nanosecond)
	k.Poll()
	if _, err := k.Authenticate(key); err != nil || p.Ended() {
		t.Fatalf("before its end: %v, ended %v", err, p.Ended())
	}
	c.advance(time.Nanosecond)
	if _, err := k.Authenticate(key); !errors.Is(err, ErrUnauthenticated) {
		t.Errorf("at its end: %v", err)
	}
	k.Poll()
	<-ended
	if err := p.Admit(); !errors.Is(err, ErrUnauthenticated) {
		t.Errorf("a principal that ended is admitted: %v", err)
	}
	if err := k.Reload(); err != nil || k.Len() != 0 {
		t.Errorf("%d keys, %v", k.Len(), err)
	}
}

func TestReload(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys")
	a, keyA := add(t, file, Entry{Name: "a", Roles: []string{"*:read"}})
	b, keyB := add(t, file, Entry{Name: "b", Roles: []string{"*:read"}})
	k := open(t, file, new(clock))
	pa, _ := k.Authenticate(keyA)
	pb, _ := k.Authenticate(keyB)

	// b's role changes: its principal ends, a's stays.
	text, _ := os.ReadFile(file)
	line := bytes.Index(text, []byte(b.ID))
	changed := append([]byte("# a comment\n\n"), text[:line]...)
	changed = append(changed, bytes.Replace(text[line:], []byte("*:read"), []byte("*:admin"), 1)...)
	replace(t, file, changed)
	k.Poll()
	if pa.Ended() || !pb.Ended() {
		t.Errorf("ended: a %v, b %v; want b", pa.Ended(), pb.Ended())
	}
	if p, err := k.Authenticate(keyA); err != nil || p != pa {
		t.Errorf("a is another principal: %v", err)
	}
	if _, err := k.Check(keyB, "x", Admin); err != nil {
		t.Errorf("b with its new role: %v", err)
	}
	if _, err := Revoke(file, b.ID); err != nil {
		t.Fatal(err)
	}
	k.Poll()
	if _, err := k.Authenticate(keyB); !errors.Is(err, ErrUnauthenticated) {
		t.Errorf("b after it was revoked: %v", err)
	}
	if text, _ := os.ReadFile(file); !bytes.Contains(text, []byte("# a comment\n\n")) {
		t.Errorf("the comment is gone:\n%s", text)
	}
	// A bad file changes nothing: first a malformed one, then none. A good one does.
	good, _ := os.ReadFile(file)
	replace(t, file, append([]byte(`{"id":"zz"}`+"\n"), good...))
	k.Poll()
	if _, err := k.Authenticate(keyA); err != nil || pa.Ended() {
		t.Errorf("after a malformed file: %v", err)
	}
	if err := k.Reload(); !errors.Is(err, ErrFile) || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("Reload of a malformed file: %v", err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	k.Poll()
	if _, err := k.Authenticate(keyA); err != nil {
		t.Errorf("after the file has gone: %v", err)
	}
	replace(t, file, nil)
	k.Poll()
	if _, err := k.Authenticate(keyA); !errors.Is(err, ErrUnauthenticated) || !pa.Ended() {
		t.Errorf("after an empty file: %v", err)
	}
	_ = a
}

func replace(t *testing.T, file string, text []byte) {
	t.Helper()
	next := file + ".test"
	if err := os.WriteFile(next, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, file); err != nil {
		t.Fatal(err)
	}
}

func TestRevokeByName(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys")
	one, _ := add(t, file, Entry{Name: "one", Roles: []string{"*:read"}})
	add(t, file, Entry{Name: "two", Roles: []string{"*:read"}})
	add(t, file, Entry{Name: "2nd", Roles: []string{"*:read"}})
	text, err := os.ReadFile(file) // Add would refuse it, another program may do it.
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, bytes.Replace(text, []byte(`"2nd"`), []byte(`"two"`), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	if e, err := Revoke(file, "one"); err != nil || e.ID != one.ID {
		t.Errorf("%v, %v", e, err)
	}
	for _, name := range []string{"one", "two", ""} {
		if _, err := Revoke(file, name); !errors.Is(err, ErrUnknownKey) {
			t.Errorf("revoke %q: %v", name, err)
		}
	}
	if all, err := ReadFile(file); err != nil || len(all) != 2 {
		t.Errorf("%d keys, %v", len(all), err)
	}
	if _, err := os.Stat(file + ".new"); err == nil {
		t.Error("a failed change left its file")
	}
}

// Two programs that change a file at the same time lose nothing: one gets an error.
func TestConcurrentChanges(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys")
	var wg sync.WaitGroup
	var added atomic.Int64
	for i := range 8 {
		wg.Go(func() {
			e, _, err := NewKey(Entry{Name: fmt.Sprint(i), Roles: []string{"*:read"}})
			if err == nil {
				err = Add(file, e)
			}
			switch {
			case err == nil:
				added.Add(1)
			case !errors.Is(err, ErrBusy):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if all, err := ReadFile(file); err != nil || int64(len(all)) != added.Load() || len(all) == 0 {
		t.Errorf("%d keys, %d were added, %v", len(all), added.Load(), err)
	}
}

func TestBadEntries(t *testing.T) {
	good, _, err := NewKey(Entry{Name: "n", Roles: []string{"*:read"}})
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Entry){
		"short id":         func(e *Entry) { e.ID = "abc" },
		"id in capitals":   func(e *Entry) { e.ID = "ABCDEF012345" },
		"control":          func(e *Entry) { e.Name = "a\nb" },
		"long name":        func(e *Entry) { e.Name = strings.Repeat("n", maxName+1) },
		"other hash":       func(e *Entry) { e.Hash = "md5:00" },
		"short hash":       func(e *Entry) { e.Hash = e.Hash[:len(e.Hash)-2] },
		"odd hash":         func(e *Entry) { e.Hash = e.Hash[:len(e.Hash)-1] },
		"long hash":        func(e *Entry) { e.Hash += "00" },
		"hash without hex": func(e *Entry) { e.Hash = hashPrefix + strings.Repeat("g", 64) },
		"no roles":         func(e *Entry) { e.Roles = nil },
		"unknown role":     func(e *Entry) { e.Roles = []string{"*:owner"} },
		"no role":          func(e *Entry) { e.Roles = []string{"cafes"} },
		"none":             func(e *Entry) { e.Roles = []string{"cafes:none"} },
		"no collection":    func(e *Entry) { e.Roles = []string{":read"} },
		"star inside":      func(e *Entry) { e.Roles = []string{"a*b:read"} },
		"many roles":       func(e *Entry) { e.Roles = make([]string, maxGrants+1) },
		"negative rate":    func(e *Entry) { e.Rate = -1 },
		"burst alone":      func(e *Entry) { e.Burst = 5 },
		"expiry":           func(e *Entry) { e.Expires = "tomorrow" },
	} {
		e := good
		change(&e)
		file := filepath.Join(t.TempDir(), "keys")
		if err := Add(file, e); !errors.Is(err, ErrFile) {
			t.Errorf("%s: %v, want ErrFile", name, err)
		}
		if _, err := os.Stat(file); err == nil {
			t.Errorf("%s: the file was written", name)
		}
	}
	line := fmt.Sprintf(`{"id":%q,"hash":%q,"roles":["*:read"]}`, good.ID, good.Hash)
	for name, text := range map[string]string{
		"twice":         line + "\n" + line,
		"unknown field": strings.Replace(line, `"id"`, `"rat":1,"id"`, 1),
		"two objects":   line + " " + line,
		"array":         "[" + line + "]",
		"cut off":       line[:len(line)-1],
		"huge":          strings.Repeat("#", MaxFileBytes+1),
	} {
		if _, err := Parse([]byte(text)); !errors.Is(err, ErrFile) {
			t.Errorf("%s: %v, want ErrFile", name, err)
		}
	}
	if all, err := Parse([]byte("# x\n\n  " + line + "\r\n")); err != nil || len(all) != 1 {
		t.Errorf("%v, %v", all, err)
	}
}

// The check of a request allocates nothing.
func TestAllocations(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys")
	_, key := add(t, file, Entry{Roles: []string{"a:read", "b*:write"}, Rate: 1e9, Burst: 1 << 30})
	k := open(t, file, new(clock))
	if n := testing.AllocsPerRun(100, func() {
		if _, err := k.Check(key, "bcd", Write); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

func FuzzParse(f *testing.F) {
	e, _, err := NewKey(Entry{Name: "n", Roles: []string{"*:read"}, Rate: 1.5, Expires: "2027-01-31T00:00:00Z"})
	if err != nil {
		f.Fatal(err)
	}
	file := filepath.Join(f.TempDir(), "keys")
	if err := Add(file, e); err != nil {
		f.Fatal(err)
	}
	text, _ := os.ReadFile(file)
	f.Add(text)
	f.Add([]byte("# only a comment\n\n"))
	f.Add([]byte(`{"id":"000000000000","hash":"sha256:"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		all, err := Parse(text)
		if err != nil {
			if !errors.Is(err, ErrFile) {
				t.Errorf("%v, want ErrFile", err)
			}
			return
		}
		// Entries that were parsed can be added to a file, and are read back unchanged.
		file := filepath.Join(t.TempDir(), "keys")
		for i := range all {
			if err := Add(file, all[i]); err != nil {
				t.Fatalf("key %+v: %v", all[i], err)
			}
		}
		if len(all) == 0 {
			return
		}
		again, err := ReadFile(file)
		if err != nil || len(again) != len(all) {
			t.Fatalf("%d keys, %v, want %d", len(again), err, len(all))
		}
		for i := range all {
			if !all[i].equal(&again[i]) {
				t.Errorf("key %+v became %+v", all[i], again[i])
			}
		}
	})
}

func BenchmarkCheck(b *testing.B) {
	file := filepath.Join(b.TempDir(), "keys")
	_, key := add(b, file, Entry{Roles: []string{"cafes:read"}})
	k := open(b, file, new(clock))
	for b.Loop() {
		if _, err := k.Check(key, "cafes", Read); err != nil {
			b.Fatal(err)
		}
	}
}

// A new key is for collections that may be created. A file that names others, which
// earlier versions created, is read as before.
func TestRolesOfBadNames(t *testing.T) {
	for _, pattern := range []string{"a b", "..", "a/*", "\u0085"} {
		if _, _, err := NewKey(Entry{Roles: []string{"cafes:read", pattern + ":read"}}); !errors.Is(err, names.ErrName) {
			t.Errorf("%q: %v", pattern, err)
		}
		e, _, err := NewKey(Entry{Roles: []string{"cafes:read"}})
		if err != nil {
			t.Fatal(err)
		}
		e.Roles[0] = pattern + ":read"
		if _, err := e.rule(); err != nil {
			t.Errorf("%q in a file: %v", pattern, err)
		}
	}
}

// The key of a member is for its group, and for no collection; no role for collections
// makes a key that of a member.
func TestReplica(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys")
	_, member := add(t, file, Entry{Name: "n1", Roles: []string{"maps:replica"}})
	_, any := add(t, file, Entry{Name: "n2", Roles: []string{"*:replica"}})
	_, admin := add(t, file, Entry{Name: "admin", Roles: []string{"*:admin", "maps:read"}})
	_, both := add(t, file, Entry{Name: "both", Roles: []string{"maps:replica", "cafes:read"}})
	k := open(t, file, new(clock))
	for _, c := range []struct {
		key, group string
		want       error
	}{
		{member, "maps", nil},
		{member, "maps2", ErrPermission},
		{member, "", ErrPermission},
		{any, "maps", nil},
		{admin, "maps", ErrPermission},
		{both, "maps", nil},
	} {
		p, err := k.Authenticate(c.key)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.CheckReplica(c.group); !errors.Is(err, c.want) || c.want == nil && err != nil {
			t.Errorf("key %s, group %q: %v, want %v", p.Name(), c.group, err, c.want)
		}
	}
	for key, want := range map[string]Role{member: None, any: None, both: None} {
		p, err := k.Authenticate(key)
		if err != nil {
			t.Fatal(err)
		}
		if r := p.Role("maps"); r != want {
			t.Errorf("key %s has role %v for a collection of the group's name", p.Name(), r)
		}
	}
}
