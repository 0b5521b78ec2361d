package replica

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestAgree: agree finds how long two logs are the same, whichever primaries wrote them.
func TestAgree(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		// Each primary continues a prefix of some log under the next term.
		logs := [][]uint64{nil}
		for term := uint64(1); term <= 6; term++ {
			from := logs[r.IntN(len(logs))]
			log := slices.Clone(from[:r.IntN(len(from)+1)])
			for range 1 + r.IntN(4) {
				log = append(log, term)
			}
			logs = append(logs, log)
		}
		a, b := logs[r.IntN(len(logs))], logs[r.IntN(len(logs))]
		a, b = a[:r.IntN(len(a)+1)], b[:r.IntN(len(b)+1)]
		want := uint64(0)
		for int(want) < min(len(a), len(b)) && a[want] == b[want] {
			want++
		}
		if got := historyOf(a).agree(uint64(len(a)), historyOf(b), uint64(len(b))); got != want {
			t.Fatalf("%v and %v agree up to %d, want %d", a, b, got, want)
		}
	}
}

func historyOf(terms []uint64) History {
	var h History
	for i, term := range terms {
		if i == 0 || terms[i-1] != term {
			h = append(h, Span{term, uint64(i + 1)})
		}
	}
	return h
}

// TestResults: what is kept of a client's writes has a bound, what was forgotten is not
// taken for new, and what was undone is.
func TestResults(t *testing.T) {
	rs := Results{}
	for n := range uint64(maxResults + 10) {
		rs.add(Entry{Client: 7, Number: n + 1}, n+101, 0)
	}
	rs.add(Entry{Client: 0, Number: 1}, 5000, 0)
	rs.cut(maxResults + 105)
	for _, c := range []struct {
		client, number, revision uint64
		known                    bool
	}{
		{7, 10, 0, false},
		{7, 11, 111, true},
		{7, maxResults + 5, maxResults + 105, true},
		{7, maxResults + 6, 0, true}, // undone
		{8, 1, 0, true},
		{0, 1, 0, true},
	} {
		if r, known := rs.find(c.client, c.number); r != c.revision || known != c.known {
			t.Errorf("client %d, number %d: revision %d, known %v, want %d, %v", c.client, c.number, r, known, c.revision, c.known)
		}
	}
}

// TestForget: a client is forgotten when it has not written for Options.Forget.
func TestForget(t *testing.T) {
	m := lone(t, 1)
	m.Step(m.now, Propose{[]Entry{{Client: 1, Number: 1}}}, nil)
	m.Step(m.now+6*time.Minute, Propose{[]Entry{{Client: 2, Number: 1}}}, nil)
	m.Step(m.now+5*time.Minute, Tick{}, nil)
	if r, _ := m.Lookup(1, 1); r != 0 {
		t.Error("a client that wrote 11 minutes ago is known")
	}
	if r, _ := m.Lookup(2, 1); r == 0 {
		t.Error("a client that wrote 5 minutes ago is not known")
	}
}

// TestOptions: a grace that two clocks could make shorter than a lease is refused.
func TestOptions(t *testing.T) {
	if err := DefaultOptions.Validate(); err != nil {
		t.Error(err)
	}
	o := DefaultOptions
	o.Grace = o.Lease
	err := o.Validate()
	if !errors.Is(err, ErrOptions) || !strings.Contains(err.Error(), "400ms, want 400.2ms") {
		t.Errorf("a grace like the lease: %v", err)
	}
	if _, err := New(0, Start{Options: o}); !errors.Is(err, ErrOptions) {
		t.Errorf("New: %v", err)
	}
}

// TestClock: whatever rates the clocks have, the bound is not passed.
func TestClock(t *testing.T) {
	for _, rate := range []float64{1 - 2e-4, 1, 1 + 2e-4} {
		for _, travelled := range []time.Duration{0, 20 * time.Microsecond, time.Second} {
			// The server looked at its clock, at 50 s, when the request had travelled.
			c := Clock{Sent: 7 * time.Second, Server: 50 * time.Second}
			passed := 30 * time.Second // at the server since then
			now := c.Sent + travelled + time.Duration(float64(passed)/rate)
			if server, bound := c.Server+passed, c.Bound(now); bound < server || bound > server+travelled+25*time.Millisecond {
				t.Errorf("rate %v, travelled %v: bound %v, the server's clock is %v", rate, travelled, bound, server)
			}
		}
	}
}

// TestCovers: a lease covers a read of its term, before its end.
func TestCovers(t *testing.T) {
	l := Lease{Term: 3, Until: 100}
	for _, c := range []struct {
		term uint64
		now  time.Duration
		want bool
	}{{3, 99, true}, {3, 100, false}, {2, 99, false}, {4, 99, false}} {
		if got := l.Covers(c.term, c.now); got != c.want {
			t.Errorf("term %d at %d: %v", c.term, c.now, got)
		}
	}
	if (Lease{Until: 100}).Covers(0, 1) {
		t.Error("a member without a term is believed")
	}
}

// lone returns the primary of term 2, alone in sync, of a group that wants min members.
func lone(t *testing.T, minInSync int) *Member {
	t.Helper()
	m, err := New(0, Start{ID: 1, Boot: 99, Options: DefaultOptions})
	if err != nil {
		t.Fatal(err)
	}
	c := Config{Version: 5, Term: 1, Primary: 1, InSync: SetOf(1), Members: SetOf(0, 1), MinInSync: minInSync}
	m.Step(0, Learned{c}, nil)
	as := m.Step(time.Second, Tick{}, nil)
	ask, ok := as[len(as)-1].(Change)
	if !ok || ask.Config.Term != 2 || ask.Config.Version != 5 {
		t.Fatalf("actions %+v", as)
	}
	ask.Config.Version = 6
	m.Step(time.Second, Learned(ask), nil)
	if !m.Leading() {
		t.Fatal("not the primary")
	}
	m.Step(time.Second, Synced{1}, nil)
	return m
}

// TestBatch: the writes of a batch that are in the log already are not made again.
func TestBatch(t *testing.T) {
	m := lone(t, 1)
	propose := func(numbers ...uint64) string {
		var batch []Entry
		for _, n := range numbers {
			batch = append(batch, Entry{Client: 1, Number: n})
		}
		var b strings.Builder
		for _, a := range m.Step(time.Second, Propose{batch}, nil) {
			if _, ok := a.(Grant); !ok {
				fmt.Fprintf(&b, "%T%+v ", a, a)
			}
		}
		return b.String()
	}
	synced := func(through uint64) string {
		return fmt.Sprintf("%+v", m.Step(time.Second, Synced{through}, nil))
	}
	for _, c := range []struct{ got, want string }{
		{propose(1, 2), "replica.Append{First:2 Entries:[{Term:0 Client:1 Number:1 Data:<nil>} {Term:0 Client:1 Number:2 Data:<nil>}]} "},
		{propose(2, 3), "replica.Append{First:4 Entries:[{Term:0 Client:1 Number:3 Data:<nil>}]} "},
		{synced(3), "[{Through:3} {Client:1 Number:1 Revision:2 Err:<nil>} {Client:1 Number:2 Revision:3 Err:<nil>} {Client:1 Number:2 Revision:3 Err:<nil>}]"},
		{propose(1), "replica.Reply{Client:1 Number:1 Revision:2 Err:<nil>} "},
		{synced(4), "[{Through:4} {Client:1 Number:3 Revision:4 Err:<nil>}]"},
	} {
		if c.got != c.want {
			t.Errorf("%s\nwant %s", c.got, c.want)
		}
	}
}

// TestRefusals: a refused write says why, with the values.
func TestRefusals(t *testing.T) {
	follower, err := New(0, Start{ID: 1, Options: DefaultOptions})
	if err != nil {
		t.Fatal(err)
	}
	follower.Step(0, Learned{Config{Version: 5, Term: 4, Primary: 2, InSync: SetOf(1, 2), Members: SetOf(1, 2)}}, nil)
	moving := lone(t, 1)
	moving.Step(2*time.Second, HandOver{0}, nil)
	failed := lone(t, 1)
	failed.Step(time.Second, Propose{[]Entry{{Client: 1, Number: 1}}}, nil)
	for _, c := range []struct {
		m    *Member
		e    Event
		want error
		text string
	}{
		{follower, Propose{[]Entry{{Client: 1, Number: 1}}}, ErrNotPrimary, "member 2 is, in term 4"},
		{lone(t, 2), Propose{[]Entry{{Client: 1, Number: 1}}}, ErrTooFew, "1, want 2"},
		{moving, Propose{[]Entry{{Client: 1, Number: 1}}}, ErrHandingOver, "to member 0"},
		{failed, Failed{2}, ErrUnknownOutcome, ""},
	} {
		as := c.m.Step(2*time.Second, c.e, nil)
		reply, ok := as[0].(Reply)
		if !ok || !errors.Is(reply.Err, c.want) || !strings.Contains(reply.Err.Error(), c.text) {
			t.Errorf("%+v, want %v", as, c.want)
		}
	}
}

// TestBeforeConfig: a member that has read no config takes no frame, and asks for one.
func TestBeforeConfig(t *testing.T) {
	m, err := New(0, Start{ID: 1, Options: DefaultOptions})
	if err != nil {
		t.Fatal(err)
	}
	f := &Frame{Term: 9, Start: true, Last: 1, Entries: []Entry{{Term: 9}}}
	for _, e := range []Event{Receive{0, f}, Tick{}} {
		if as := m.Step(1, e, nil); len(as) != 1 || as[0] != (Read{}) {
			t.Errorf("%T: %+v", e, as)
		}
	}
}
