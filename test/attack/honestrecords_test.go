package attack

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/kv"
)

// A keeper finds nothing wrong with a correct server, in any operation; and each
// operation notices when the server's record differs from what was written.
func TestKeeper(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := startServer(ctx, ServerConfig{Binary: serverBinary, Objects: 1000})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	}()
	for _, transport := range []string{"shm", "soft", "tcp"} {
		c, err := catfish.Dial(ctx, s.Addr, catfish.Options{Transport: transport, Logger: discard()})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		r, err := c.Records(recordsName)
		if err != nil {
			t.Fatal(err)
		}
		k := newKeeper(r)
		for range 3 * scanEvery {
			if err := k.ask(ctx); err != nil {
				t.Fatalf("%s: %v", transport, err)
			}
		}
		// known gives key 0 a record that does not expire.
		known := func() {
			t.Helper()
			k.writes++
			rev, err := r.Put(ctx, catfish.Record{Key: k.key(0), Value: valueOf(k.writes)}, kv.Condition{})
			if err != nil {
				t.Fatal(err)
			}
			k.has[0] = state{value: k.writes, revision: rev}
		}
		spoil := map[string]func(){
			"another value":    func() { k.has[0].value++ },
			"another revision": func() { k.has[0].revision++ },
			"there is none":    func() { k.has[0] = state{} },
			"it was lost": func() {
				if err := r.Delete(ctx, k.key(0), kv.Condition{}); err != nil {
					t.Fatal(err)
				}
			},
		}
		for what, change := range spoil {
			for op, ask := range map[string]func() error{
				"get":      func() error { return k.get(ctx, 0) },
				"get many": func() error { return k.getMany(ctx) },
				"scan":     func() error { return k.scan(ctx) },
			} {
				known()
				if err := ask(); err != nil {
					t.Errorf("%s, %s: %v", transport, op, err)
				}
				change()
				if err := ask(); !errors.Is(err, errWrong) {
					t.Errorf("%s, %s does not notice: %s: %v", transport, op, what, err)
				}
			}
		}
		// Deletes and conditions notice, too.
		known()
		k.has[0] = state{}
		if err := k.remove(ctx, 0); !errors.Is(err, errWrong) {
			t.Errorf("%s: delete of what should not be there: %v", transport, err)
		}
		known()
		spoil["it was lost"]()
		if err := k.remove(ctx, 0); !errors.Is(err, errWrong) {
			t.Errorf("%s: delete of what was lost: %v", transport, err)
		}
		wrong := false
		for range 100 { // some of which have a condition
			known()
			k.has[0].revision++
			if err := k.put(ctx, 0); errors.Is(err, errWrong) && strings.Contains(err.Error(), "IfRevision") {
				wrong = true
			}
		}
		if !wrong {
			t.Errorf("%s: puts under a condition notice nothing", transport)
		}
		// A record whose expiry a reader sees later than the server, which
		// finds none to delete, may still be read, but no other one.
		known()
		k.has[0].expires = time.Now()
		spoil["it was lost"]()
		if err := k.remove(ctx, 0); err != nil || k.has[0].revision == 0 {
			t.Errorf("%s: delete of what has just expired: %v, revision %d is left", transport, err, k.has[0].revision)
		}
		was := k.has[0]
		known()
		k.has[0] = was
		if err := k.get(ctx, 0); !errors.Is(err, errWrong) {
			t.Errorf("%s: get of another record than expired: %v", transport, err)
		}
		// An expired record does not exist, and existed before.
		known()
		k.has[0].expires = time.Now().Add(-2 * lateExpiry)
		if err := k.get(ctx, 0); !errors.Is(err, errWrong) {
			t.Errorf("%s: get of what has expired: %v", transport, err)
		}
	}
}

// The attackers' requests about records follow the server's protocol: well-formed ones
// are answered, and all that are spoiled, made up or short-lived are answered somehow.
func TestRecordRequests(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := startServer(ctx, ServerConfig{Binary: serverBinary, Objects: 1000})
	if err != nil {
		t.Fatal(err)
	}
	defer s.stop()
	e := newEnemy(Job{Target: s.Target, Small: true})
	coll, err := e.number(ctx, recordsName)
	if err != nil || coll == 0 {
		t.Fatalf("collection %d, %v", coll, err)
	}
	c, err := e.stream(ctx, 0, streamTCP)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ask := func(kind byte, body []byte) byte {
		t.Helper()
		if _, err := c.Write(frame(kind, 1, body)); err != nil {
			t.Fatal(err)
		}
		answer, err := readAnswer(c)
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	for _, kind := range []byte{kindPut, kindGet, kindRemove, kindScan, kindRenew} {
		if a := ask(kind, recordRequest(kind, coll, "key")); a != kindReply {
			t.Errorf("kind %d: answer of kind %d", kind, a)
		}
	}
	if a := ask(kindCreateRecords, recordRequest(kindCreateRecords, coll, "key")); a == kindReply {
		t.Error("a table that there is not was made")
	}
	answers := map[bool]int{}
	for range 3000 {
		kind, body := spoiled(coll)
		answers[ask(kind, body) == kindReply]++
		answers[ask(kindScan, append(recordHead(coll, 0), cursor()...)) == kindReply]++
	}
	if answers[true] == 0 || answers[false] == 0 {
		t.Errorf("%v", answers)
	}
	if st, err := s.status(ctx); err != nil || len(st.Records) != 1 {
		t.Errorf("collections of records: %+v, %v", st.Records, err)
	}
}

// One client fills a collection and its writes are refused. Another continues
// with its own, and the first can drop the collection.
func TestFill(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	s, err := startServer(ctx, ServerConfig{Binary: serverBinary, Objects: 1000, Flags: []string{"--slab-bytes", "8MiB"}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	}()
	e := newEnemy(Job{Target: s.Target, Small: true})
	c, err := e.client(ctx, "shm")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.CreateRecords(ctx, "full", catfish.RecordsOptions{}); err != nil {
		t.Fatal(err)
	}
	full, err := c.Records("full")
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.Records(recordsName)
	if err != nil {
		t.Fatal(err)
	}
	filled := make(chan error, 1)
	go func() { filled <- e.fill(ctx, full) }()
	k := newKeeper(r)
	for done := false; !done; {
		select {
		case err := <-filled:
			if done = true; err != nil {
				t.Error(err)
			}
		default:
		}
		if err := k.ask(ctx); err != nil {
			t.Fatal(err)
		}
	}
	counts := e.report()
	if most := (8 << 20) / 30_000; counts["full"] != fillers || counts["refused"] < fillers*afterFull || counts["puts"] < most/2 || counts["puts"] > most {
		t.Errorf("%v", counts)
	}
	if _, err := c.DropCollection(ctx, "full"); err != nil {
		t.Error(err)
	}
}
