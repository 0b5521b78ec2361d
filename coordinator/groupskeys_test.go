package coordinator

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/catfish-index/catfish/catfish/daemon"
	"github.com/catfish-index/catfish/internal/access"
	"github.com/catfish-index/catfish/internal/catfishtest"
	groupmap "github.com/catfish-index/catfish/internal/cluster"
	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/internal/wire"
)

// withKey asks a member with a client's key.
func withKey(t *testing.T, m *member, key, method, path, body string) (status int, answer string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://"+m.at.HTTP+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if key != "" {
		r.Header.Set("X-API-Key", key)
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	b, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return a.StatusCode, string(b)
}

// Groups with keys answer only each other: the client's key is checked where it comes
// in, and a member's key between groups.
func TestGroupsKeys(t *testing.T) {
	t.Parallel()
	k := newKeysOf(t)
	c := start(t, Options{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	if _, err := groupmap.Init(t.Context(), dial(t, c.Addr()), []placement.Group{{Name: "a", Weight: 1}, {Name: "b", Weight: 1}}); err != nil {
		t.Fatal(err)
	}
	_, admin := k.add(k.keys, "admin", "*:admin")
	_, reader := k.add(k.keys, "reader", "places:read")
	_, stranger := k.add(k.keys, "stranger", "c:replica")
	members := map[string]*member{}
	for _, group := range []string{"a", "b"} {
		file, _ := k.add(k.keys, "member-"+group, group+":replica")
		members[group] = startHere(t, memberOf{Coordinator: c.Addr(), Node: "n1", Dir: filepath.Join(t.TempDir(), "data"), set: func(o *daemon.Options) {
			var err error
			if o.Server.Keys, err = access.Open(k.keys, catfishtest.Quiet(), nil); err != nil {
				t.Fatal(err)
			}
			o.Group.Name, o.Group.KeyFile = group, file
		}})
	}
	// Group a has read the file of keys before that of b was there.
	if err := members["a"].daemon.Reload(); err != nil {
		t.Fatal(err)
	}
	if status, text := withKey(t, members["a"], admin, "PUT", "/collections/places", "{}"); status != http.StatusCreated {
		t.Fatal(status, text)
	}
	for i := range 20 {
		at := members[[]string{"a", "b"}[i%2]]
		if status, text := withKey(t, at, admin, "PUT", fmt.Sprintf("/collections/places/items/%d", i), `{"type":"Feature","geometry":null,"properties":null}`); status != http.StatusCreated {
			t.Fatal(status, text)
		}
	}
	for name, m := range members {
		for key, want := range map[string]int{"": http.StatusUnauthorized, stranger: http.StatusForbidden, reader: http.StatusOK} {
			if status, text := withKey(t, m, key, "GET", "/collections/places/items?limit=100", ""); status != want || status == http.StatusOK && !strings.Contains(text, `"numberMatched":20,"numberReturned":20`) {
				t.Errorf("%s: %d %.300s, want %d", name, status, text, want)
			}
		}
		if status, _ := withKey(t, m, reader, "DELETE", "/collections/places/items/1", ""); status != http.StatusForbidden {
			t.Errorf("%s: a reader deletes: %d", name, status)
		}
		for key, group := range map[string]string{"": "b", admin: "b", stranger: "c", "none": "a"} {
			if kind, text := streamed(t, m, group, key); kind != 'e' {
				t.Errorf("%s: a stream as group %s got %q %s", name, group, kind, text)
			}
		}
	}
}

// streamed asks a member on a stream between groups, and returns the first frame of the answer.
func streamed(t *testing.T, m *member, group, key string) (kind byte, text string) {
	t.Helper()
	s, err := wire.DialStream(t.Context(), m.addr, wire.StreamGroups)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const head = `{"Op":"page","Collection":"places","Query":{}}`
	body := string(binary.LittleEndian.AppendUint32([]byte{'r'}, uint32(len(head)))) + head
	r, err := http.NewRequest(http.MethodPost, "http://member/", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Catfish-Group", group)
	r.Header.Set("Catfish-Member-Key", key)
	if err := r.Write(s); err != nil {
		t.Fatal(err)
	}
	a, err := http.ReadResponse(bufio.NewReader(s), r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	b, err := io.ReadAll(a.Body)
	if err != nil || len(b) < 5 {
		t.Fatal(len(b), err)
	}
	return b[0], string(b[5:])
}

// While slots move, and when they have moved, each page and count at each member has all that was
// stored, once, and writes by id are where they are looked for.
func TestGroupsHTTPWhileSlotsMove(t *testing.T) {
	t.Parallel()
	members, _, registry := groupsAndAloneAt(t)
	a, b := members["a/n1"], members["b/n1"]
	if r := ask(t, a, "PUT", "/collections/places", "application/json", `{}`); r.status != http.StatusCreated {
		t.Fatal(r)
	}
	const n = 400
	var lines strings.Builder
	for i := range n {
		fmt.Fprintf(&lines, `{"type":"Feature","id":"stays-%03d","geometry":{"type":"Point","coordinates":[1,1]},"properties":{"stays":true}}`+"\n", i)
	}
	if r := ask(t, b, "POST", "/collections/places/items", "application/x-ndjson", lines.String()); r.status != http.StatusOK {
		t.Fatal(r)
	}
	// again repeats what is refused for a time, when members are slow.
	again := func(m *member, method, path, body string) (r asked) {
		for try := 0; try < 10 && (r.status == 0 || r.status == http.StatusServiceUnavailable); try++ {
			r = ask(t, m, method, path, "application/geo+json", body)
		}
		return r
	}
	over := make(chan struct{})
	var under sync.WaitGroup
	for name, m := range members {
		under.Go(func() {
			for round := 0; ; round++ {
				got := 0
				path := "/collections/places/items?limit=150&numberMatched=true&filter=stays%3DTRUE"
				for path != "" {
					r := again(m, "GET", path, "")
					if !strings.Contains(r.body, fmt.Sprintf(`"numberMatched":%d`, n)) {
						t.Errorf("%s: %d %.300s", name, r.status, r.body[max(0, len(r.body)-200):])
						return
					}
					got += strings.Count(r.body, `"id":"stays-`)
					path = nextOf(t, r)
				}
				id := fmt.Sprintf("/collections/places/items/%s-%d", name[:1], round%50)
				put := again(m, "PUT", id, fmt.Sprintf(`{"type":"Feature","geometry":null,"properties":{"round":%d}}`, round))
				is := again(m, "GET", id, "")
				if got != n || put.status >= 300 || !strings.Contains(is.body, fmt.Sprintf(`{"round":%d}`, round)) {
					t.Errorf("%s: %d of %d places; %v, then %v", name, got, n, put, is)
					return
				}
				select {
				case <-over:
					return
				default:
				}
			}
		})
	}
	moveHalf(t, registry, 0, 1)
	catfishtest.Eventually(t, "the moves have ended", func() bool { return len(readMap(t, registry).Moves) == 0 })
	close(over)
	under.Wait()
}
