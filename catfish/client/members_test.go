package client

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/internal/catfishtest"
	"github.com/catfish-index/catfish/internal/fault"
	"github.com/catfish-index/catfish/internal/wire"
)

func member(addr, group, role string, term uint64) helloAnswer {
	return helloAnswer{addr: addr, hello: wire.Hello{Group: &wire.GroupHello{Name: group, Node: addr, Role: role, Term: term}}}
}

func TestChoose(t *testing.T) {
	alone := func(addr string) helloAnswer { return helloAnswer{addr: addr} }
	for name, c := range map[string]struct {
		all   []helloAnswer
		given string
		least uint64
		want  string // address
		err   error
	}{
		"the primary":                      {[]helloAnswer{member("a", "g", "secondary", 3), member("b", "g", "primary", 3)}, "a,b", 3, "b", nil},
		"the only one that answers":        {[]helloAnswer{member("b", "g", "primary", 3)}, "a,b", 0, "b", nil},
		"of two primaries the newer":       {[]helloAnswer{member("a", "g", "primary", 3), member("b", "g", "primary", 4)}, "a,b", 0, "b", nil},
		"a primary that was replaced":      {[]helloAnswer{member("a", "g", "primary", 3), member("b", "g", "secondary", 4)}, "a,b", 0, "", errNoPrimary},
		"of a term before the last":        {[]helloAnswer{member("a", "g", "primary", 3)}, "a,b", 4, "", errNoPrimary},
		"none yet":                         {[]helloAnswer{member("a", "g", "secondary", 3), member("b", "g", "learner", 0)}, "a,b", 0, "", errNoPrimary},
		"a server without a group":         {[]helloAnswer{alone("a")}, "a", 0, "a", nil},
		"a server that has left its group": {[]helloAnswer{alone("b"), alone("a")}, "a", 7, "a", nil},
		"several servers without a group":  {[]helloAnswer{alone("a"), alone("b")}, "a,b", 0, "", model.ErrOption},
		"members of two groups":            {[]helloAnswer{member("a", "g", "primary", 3), member("b", "h", "primary", 3)}, "a,b", 0, "", model.ErrOption},
		"one has left, another has not":    {[]helloAnswer{alone("a"), member("b", "g", "primary", 3)}, "a", 0, "b", nil},
	} {
		got, err := choose(c.all, strings.Split(c.given, ","), c.least)
		if got.addr != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: %q, %v, want %q, %v", name, got.addr, err, c.want, c.err)
		}
	}
}

// Another member of the group is no restarted server, unless its term is lower.
func TestAnotherMemberIsNoRestart(t *testing.T) {
	c := &connection{}
	s := func(boot uint64, is helloAnswer) *session {
		is.hello.BootID = boot
		return &session{hello: is.hello}
	}
	old := s(1, member("a", "g", "primary", 3))
	for name, next := range map[string]struct {
		s     *session
		doubt bool
	}{
		"the next primary":       {s(2, member("b", "g", "primary", 4)), false},
		"the same, in that term": {s(2, member("a", "g", "primary", 3)), false},
		"of an earlier term":     {s(2, member("b", "g", "primary", 2)), true},
		"of another group":       {s(2, member("b", "h", "primary", 4)), true},
		"without a group":        {s(2, helloAnswer{}), true},
	} {
		if c.meet(old, next.s); (next.s.restart != nil) != next.doubt {
			t.Errorf("%s: %+v", name, next.s.restart)
		}
	}
}

// helloServer answers hellos, and nothing else.
type helloServer struct {
	addr string
	mu   sync.Mutex
	role string // empty: it does not answer
	term uint64
	n    int // hellos that it was asked for
}

// asked waits until the server was asked n times more.
func (s *helloServer) asked(t *testing.T, n int) {
	t.Helper()
	count := func() int {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.n
	}
	before := count()
	catfishtest.Eventually(t, "hellos are asked for", func() bool { return count() >= before+n })
}

func (s *helloServer) set(role string, term uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.role, s.term = role, term
}

// helloGroup returns servers that say they are members of one group.
func helloGroup(t *testing.T, n int) []*helloServer {
	t.Helper()
	var members []wire.GroupMember
	var all []*helloServer
	var ready sync.WaitGroup
	ready.Add(1)
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		s := &helloServer{addr: l.Addr().String(), role: "secondary", term: 1}
		all, members = append(all, s), append(members, wire.GroupMember{Node: s.addr, Addr: s.addr})
		var serving sync.WaitGroup
		serving.Go(func() {
			ready.Wait()
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				serving.Go(func() {
					defer c.Close()
					if kind, err := wire.ReadPreamble(c); err != nil || kind != wire.StreamHello {
						return
					}
					s.mu.Lock()
					role, term := s.role, s.term
					s.n++
					s.mu.Unlock()
					if role == "" {
						_, _ = io.Copy(io.Discard, c) // until the client gives up
						return
					}
					_ = json.NewEncoder(c).Encode(wire.Hello{Protocol: wire.ProtocolVersion, Group: &wire.GroupHello{
						Name: "g", Node: s.addr, Role: role, Term: term, Members: members,
					}})
				})
			}
		})
		t.Cleanup(func() { l.Close(); serving.Wait() })
	}
	ready.Done()
	return all
}

// A client that knows one member finds the primary, also after the member that it was given
// has ended, and while another does not answer.
func TestFindPrimary(t *testing.T) {
	all := helloGroup(t, 3)
	v, err := newServers(all[0].addr)
	if err != nil {
		t.Fatal(err)
	}
	find := func(want *helloServer, is error) {
		t.Helper()
		got, err := v.find(t.Context())
		if !errors.Is(err, is) || want != nil && got.addr != want.addr {
			t.Fatalf("%q, %v, want %+v, %v", got.addr, err, want, is)
		}
	}
	find(nil, errNoPrimary)
	all[1].set("primary", 2)
	find(all[1], nil)
	all[0].set("", 0)
	find(all[1], nil)
	all[2].set("primary", 3)
	find(all[2], nil)
	// The old one does not know yet, and the new one does not answer.
	all[2].set("", 0)
	find(nil, errNoPrimary)
	all[1].set("secondary", 3)
	before := v.wait
	find(nil, errNoPrimary)
	if v.wait != 2*before {
		t.Errorf("waits %v, want %v: the primary may be further away", v.wait, 2*before)
	}
	for _, s := range all {
		s.set("secondary", 1)
	}
	find(nil, errNoPrimary)
	all[0].set("primary", 1) // All answer: the group was made again.
	find(all[0], nil)
}

// find does not wait for a member that stands still once another one is the primary, also
// when that becomes so while it waits.
func TestFindPrimaryBesideOneThatStandsStill(t *testing.T) {
	all := helloGroup(t, 3)
	v, err := newServers(all[0].addr)
	if err != nil {
		t.Fatal(err)
	}
	all[1].set("primary", 2)
	if _, err := v.find(t.Context()); err != nil {
		t.Fatal(err)
	}
	all[1].set("", 0)
	v.wait = time.Hour
	found := make(chan helloAnswer)
	go func() {
		a, err := v.find(t.Context())
		if err != nil {
			t.Error(err)
		}
		found <- a
	}()
	all[0].asked(t, 2) // It has said that it is a secondary, and is asked again.
	all[2].set("primary", 3)
	if a := <-found; a.addr != all[2].addr {
		t.Errorf("%q, want %q", a.addr, all[2].addr)
	}
}

// A member stands still if requests wait, and none is answered.
func TestCallsStandStill(t *testing.T) {
	var c calls
	for i, step := range []struct {
		begin, end uint64
		still      bool
	}{
		{0, 0, false},
		{1, 0, false}, // It has begun since.
		{0, 0, true},
		{5, 0, true},
		{0, 1, false}, // One was answered.
		{0, 0, true},
		{0, 5, false},
		{0, 0, false},
		{100, 100, false},
		{0, 0, false},
	} {
		c.begun.Add(step.begin)
		c.ended.Add(step.end)
		if still := c.still(); still != step.still {
			t.Errorf("step %d: %v", i, still)
		}
	}
}

// Dial waits for the primary of a group, as long as it may.
func TestDialWithoutAPrimary(t *testing.T) {
	all := helloGroup(t, 2)
	_, err := Dial(t.Context(), all[0].addr+", "+all[1].addr, Options{DialTimeout: time.Second})
	if !errors.Is(err, model.ErrNoServer) || !strings.Contains(err.Error(), `group "g"`) {
		t.Error(err)
	}
}

func TestBadAddresses(t *testing.T) {
	for _, addr := range []string{"a:1,", ",a:1", "a:1, ,b:1", strings.Repeat("a:1,", maxAddrs) + "a:1"} {
		if _, err := Dial(t.Context(), addr, Options{}); !errors.Is(err, model.ErrOption) {
			t.Errorf("%q: %v", addr, err)
		}
	}
}

// A refused write waits no longer than until the client has its next session.
func TestRefusalEndsWithTheNextSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &connection{looks: make(chan struct{}, 1), opts: Options{DialTimeout: time.Hour}}
		c.sessions.init()
		time.AfterFunc(time.Millisecond, func() { c.sessions.set(&session{}) })
		var w refusals
		began := time.Now()
		if !w.more(t.Context(), c) || time.Since(began) > firstPause/10 {
			t.Errorf("it waits %v", time.Since(began))
		}
	})
}

// A refused write is made again until no member has become the primary for the dial time
// limit; another error is the caller's.
func TestRefusals(t *testing.T) {
	c := &connection{looks: make(chan struct{}, 1), opts: Options{DialTimeout: time.Hour}}
	var w refusals
	if w.again(t.Context(), c, model.ErrTooFewInSync) || len(c.looks) > 0 {
		t.Error("a write with too few members in sync is made again")
	}
	if !w.again(t.Context(), c, model.ErrNotPrimary) || len(c.looks) != 1 {
		t.Error("a refused write is not made again, or nobody looks for the primary")
	}
	if part := (&wire.PartlyDone{Done: 1, Err: model.ErrNotPrimary}); w.again(t.Context(), c, part) {
		t.Error("a write that was partly done is made again")
	}
	c.opts.DialTimeout = 0
	if w.again(t.Context(), c, model.ErrNotPrimary) {
		t.Error("a write is made again after the time limit")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if (&refusals{}).again(ctx, &connection{looks: c.looks, opts: Options{DialTimeout: time.Hour}}, model.ErrNotPrimary) {
		t.Error("a write is made again after its context has ended")
	}
}

// Of several features in a message those that were refused are sent again, if no later one
// was stored. If they have names, those whose outcome is unknown are, too, and all after them.
func TestSettled(t *testing.T) {
	stored, bad := model.PutResult{Revision: 1}, model.PutResult{Err: fault.ErrFeature}
	refused, lost := model.PutResult{Err: fault.ErrNotPrimary}, model.PutResult{Err: model.ErrUnknownOutcome}
	r := &remoteFeatures{&Client{conn: &connection{}}}
	r.c.conn.sessions.init()
	r.c.conn.sessions.set(&session{})
	for _, c := range []struct {
		results     []model.PutResult
		want, named int
		again       bool
	}{
		{[]model.PutResult{stored, bad}, 2, 2, false},
		{[]model.PutResult{stored, refused, bad, refused}, 1, 1, false},
		{[]model.PutResult{refused, refused}, 0, 0, false},
		{[]model.PutResult{refused, stored}, 2, 0, false},
		{[]model.PutResult{stored, lost, stored}, 3, 1, true},
		{[]model.PutResult{refused, lost}, 0, 0, true},
	} {
		for client, want := range []int{c.want, c.named} {
			w := attempt{name: wire.Name{Client: uint64(client)}}
			if got := r.settled(&w, c.results); got != want {
				t.Errorf("%v, named %v: %d, want %d", c.results, client > 0, got, want)
			}
			if again := client > 0 && c.again; (w.sent != nil) != again {
				t.Errorf("%v, named %v: sent again %v, want %v", c.results, client > 0, w.sent != nil, again)
			}
		}
	}
}

// refusedRead is a read that is refused several times, then loses its connection, and then
// has an answer.
type refusedRead struct {
	read
	refusals, tries int
}

func (q *refusedRead) once(_ context.Context, _ *Client, s *session) error {
	switch q.tries++; {
	case q.tries <= q.refusals:
		return model.ErrNotPrimary
	case q.tries == q.refusals+1:
		s.caller.Close()
		return model.ErrNotSent
	}
	return nil
}

func (q *refusedRead) again() {}

// A refusal costs a read no connection of those that it may lose.
func TestRefusalsAreNoLostConnections(t *testing.T) {
	c := dial(t, startServer(t, server.Options{}), Options{})
	q := &refusedRead{refusals: maxLost - 1}
	if err := c.run(t.Context(), q); err != nil || q.tries != q.refusals+2 {
		t.Errorf("%d tries, %v", q.tries, err)
	}
}
