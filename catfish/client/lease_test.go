package client

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/catfish-index/catfish/internal/replica"
	"github.com/catfish-index/catfish/internal/wire"
)

// fakeMember is a member of a group whose clock is a year ahead of the client's.
type fakeMember struct {
	*memberLease
	clock time.Duration // the client's
	lease replica.Lease // the member's
	took  time.Duration // by each answer
	asked int
	beats [2]uint64
	err   error
}

const ahead = 365 * 24 * time.Hour

func newFakeMember(term uint64, left time.Duration) *fakeMember {
	m := &fakeMember{clock: time.Hour}
	m.grant(term, left)
	m.memberLease = &memberLease{
		now: func() time.Duration { return m.clock },
		ask: func(context.Context) (wire.Standing, error) {
			m.asked++
			m.clock += m.took
			return wire.Standing{Now: m.clock + ahead, Lease: m.lease}, m.err
		},
		beat:   func() ([2]uint64, bool) { return m.beats, m.beats != [2]uint64{} },
		asking: make(chan struct{}, 1),
	}
	return m
}

func (m *fakeMember) grant(term uint64, left time.Duration) {
	m.lease = replica.Lease{Term: term, Until: m.clock + ahead + left}
}

func (m *fakeMember) heartbeat() { m.beats = [2]uint64{m.lease.Term, uint64(m.lease.Until)} }

// read is a one-sided read that ends when between has returned.
func (m *fakeMember) read(t *testing.T, between func()) bool {
	t.Helper()
	term, err := m.begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	between()
	held, err := m.holds(t.Context(), term)
	if err != nil {
		t.Fatal(err)
	}
	return held
}

const lease = 400 * time.Millisecond

// What was read counts while the lease holds, and one question serves many reads.
func TestReadsCountWhileTheLeaseHolds(t *testing.T) {
	m := newFakeMember(3, lease)
	m.took = time.Millisecond
	for range 300 {
		if !m.read(t, func() { m.clock += time.Millisecond }) {
			t.Fatal("a read under the lease does not count")
		}
		m.grant(3, lease)
	}
	if m.asked < 1 || m.asked > 2 {
		t.Errorf("asked %d times in 300 ms, want once or twice", m.asked)
	}
}

// With heartbeats no question is needed, for ever so long.
func TestHeartbeatsExtendTheLease(t *testing.T) {
	m := newFakeMember(3, lease)
	for range 6000 {
		m.grant(3, lease)
		m.heartbeat()
		if !m.read(t, func() { m.clock += 10 * time.Millisecond }) {
			t.Fatal("a read under the lease does not count")
		}
	}
	if m.asked != 1 {
		t.Errorf("asked %d times in a minute, want once", m.asked)
	}
	// The bound of the clock gets worse, until it covers nothing and a new one is needed.
	for range 200_000 {
		m.clock += 10 * time.Millisecond
		m.grant(3, lease)
		m.heartbeat()
		if !m.read(t, func() {}) {
			t.Fatal("a read under the lease does not count")
		}
	}
	if m.asked < 2 || m.asked > 10 {
		t.Errorf("asked %d times in half an hour, want a few times", m.asked)
	}
}

// A client that stands still after a read, or whose member does, does not believe it.
func TestReadsDoNotCountAfterTheLease(t *testing.T) {
	for name, after := range map[string]func(m *fakeMember){
		"the member stood still, too":             func(*fakeMember) {},
		"the member knows that it is deposed":     func(m *fakeMember) { m.lease = replica.Lease{} },
		"the member is a secondary":               func(m *fakeMember) { m.grant(4|replica.OfSecondary, lease) },
		"the member is the primary of later term": func(m *fakeMember) { m.grant(5, lease) },
		"a late heartbeat":                        func(m *fakeMember) { m.heartbeat() },
	} {
		m := newFakeMember(3, lease)
		if m.read(t, func() { m.clock += lease; after(m) }) {
			t.Errorf("%s: the read counts", name)
		}
	}
	m := newFakeMember(3, lease)
	if !m.read(t, func() { m.clock += time.Hour; m.grant(3, lease) }) {
		t.Error("the member is the primary still, and the read does not count")
	}
}

// The time that an answer takes shortens the lease: the member's clock may have been read
// when the request arrived.
func TestSlowAnswersShortenTheLease(t *testing.T) {
	m := newFakeMember(3, lease)
	m.ask = func(context.Context) (wire.Standing, error) {
		s := wire.Standing{Now: m.clock + ahead, Lease: m.lease}
		m.clock += lease / 2 // on the way back
		return s, nil
	}
	if !m.read(t, func() { m.clock += lease/2 - 2*time.Millisecond }) {
		t.Error("a read before the lease's end does not count")
	}
	m.ask = func(context.Context) (wire.Standing, error) { return wire.Standing{}, nil }
	if m.read(t, func() { m.clock += 4 * time.Millisecond }) {
		t.Error("a read after the lease's end counts")
	}
}

// A session that reads at secondaries believes their leases; no other does.
func TestLeasesOfSecondaries(t *testing.T) {
	for _, inSync := range []bool{false, true} {
		m := newFakeMember(3|replica.OfSecondary, lease)
		m.inSync = inSync
		if m.read(t, func() {}) != inSync {
			t.Errorf("in sync %v: the read counts: %v", inSync, !inSync)
		}
		if inSync && m.read(t, func() { m.grant(4, lease); m.clock += lease }) {
			t.Error("a secondary that was promoted: the read counts")
		}
	}
}

// Without a group nothing is asked, and a failure is the caller's.
func TestLeaseErrors(t *testing.T) {
	var none *memberLease
	if term, err := none.begin(nil); term != 0 || err != nil { //nolint:staticcheck // It is not used.
		t.Error(term, err)
	}
	if held, err := none.holds(nil, 0); !held || err != nil { //nolint:staticcheck // It is not used.
		t.Error(held, err)
	}
	m := newFakeMember(3, lease)
	m.err = errors.New("lost")
	if _, err := m.begin(t.Context()); !errors.Is(err, m.err) {
		t.Error(err)
	}
	m.asking <- struct{}{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.begin(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A check does not allocate.
func TestLeaseCheckDoesNotAllocate(t *testing.T) {
	m := newFakeMember(3, lease)
	ctx := t.Context()
	_, _ = m.begin(ctx)
	if n := testing.AllocsPerRun(100, func() {
		term, _ := m.begin(ctx)
		if held, _ := m.holds(ctx, term); !held {
			t.Fatal("it does not hold")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
