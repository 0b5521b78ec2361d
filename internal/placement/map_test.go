package placement

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/internal/cuckoo"
	"github.com/catfish-index/catfish/rstar"
)

// groupsOf returns groups a, b, c and so on of these weights.
func groupsOf(weights ...uint8) []Group {
	all := make([]Group, len(weights))
	for i, w := range weights {
		all[i] = Group{Name: string(rune('a' + i)), Weight: w}
	}
	return all
}

// is fails the test unless err is want, and has the words.
func is(t *testing.T, err, want error, words ...string) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%v, want %v", err, want)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q does not say %q", err, w)
		}
	}
}

// must returns the map of a call that may not fail.
func must(t testing.TB, m *Map, err error) *Map {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestNew(t *testing.T) {
	m, err := New(groupsOf(1, 0, 3))
	must(t, m, err)
	if a, _ := m.owned(0); a != Slots/4 {
		t.Errorf("a has %d slots", a)
	}
	if b, _ := m.owned(1); b != 0 {
		t.Errorf("b has %d slots", b)
	}
	_, err = New(nil)
	is(t, err, ErrMap, "0 groups", "64")
	_, err = New(make([]Group, 65))
	is(t, err, ErrMap, "65 groups", "64")
	_, err = New(groupsOf(0, 0))
	is(t, err, ErrMap, "weight 0")
	_, err = New(groupsOf(101))
	is(t, err, ErrMap, "101", "100")
	_, err = New([]Group{{Name: "a", Weight: 1}, {Name: "a", Weight: 1}})
	is(t, err, ErrMap, `both "a"`)
	_, err = New([]Group{{Name: "a/b", Weight: 1}})
	is(t, err, ErrMap, `"a/b"`)
}

func TestGroups(t *testing.T) {
	m, err := New(groupsOf(1, 1, 1))
	m = must(t, m, err)
	m, err = m.AddBoxes("roads", rstar.Rect{MaxX: 1, MaxY: 1}, nil, nil)
	m = must(t, m, err)
	four, err := m.AddGroup("d", 1)
	four = must(t, four, err)
	if four.Version != m.Version+1 || len(m.Groups) != 3 {
		t.Errorf("version %d after %d, and %d groups before", four.Version, m.Version, len(m.Groups))
	}
	for i := range 100 {
		id := fmt.Append(nil, i)
		if four.Of(id) != m.Of(id) {
			t.Fatalf("%s moved", id)
		}
	}
	_, err = four.AddGroup("d", 1)
	is(t, err, ErrMap, `both "d"`)
	_, err = four.RemoveGroup(1)
	is(t, err, ErrBusy, `"b"`, "1365 slots", "1 ranges")
	_, err = four.RemoveGroup(4)
	is(t, err, ErrUnknown, "group 4 of 4")

	// All of b goes to d; then d is the third.
	moves := []Move{{Part: Part{Collection: "roads", Start: m.Boxes[0].Ranges[1].Start}, From: 1, To: 3}}
	for s, g := range four.Slots {
		if g == 1 {
			moves = append(moves, Move{Part: Part{Slot: uint16(s)}, From: 1, To: 3})
		}
	}
	none := four
	for len(moves) > 0 {
		n := min(len(moves), MaxMoves)
		none = doneMoves(t, none, moves[:n])
		moves = moves[n:]
	}
	rest, err := none.RemoveGroup(1)
	rest = must(t, rest, err)
	for i := range 1000 {
		id := fmt.Append(nil, i)
		was, now := m.Groups[m.Of(id)].Name, rest.Groups[rest.Of(id)].Name
		if was != now && (was != "b" || now != "d") {
			t.Fatalf("%s was in %s, is in %s", id, was, now)
		}
	}
	if g, err := rest.Find("d"); err != nil || g != 2 || rest.Boxes[0].Ranges[1].Group != 2 {
		t.Errorf("d is %d, and has %v; %v", g, rest.Boxes[0].Ranges, err)
	}
	_, err = rest.Find("b")
	is(t, err, ErrUnknown, `"b"`)
	weighed, err := rest.Weigh(2, 0)
	if must(t, weighed, err).Groups[2].Weight != 0 || rest.Groups[2].Weight != 1 {
		t.Error("weights")
	}
}

// doneMoves returns the map after all steps of some moves.
func doneMoves(t testing.TB, m *Map, moves []Move) *Map {
	t.Helper()
	m, err := m.Begin(moves...)
	m = must(t, m, err)
	for _, v := range moves {
		for _, f := range []func(Part) (*Map, error){
			func(p Part) (*Map, error) { return m.Copied(p) },
			func(p Part) (*Map, error) { return m.Freeze(p, 7) },
			func(p Part) (*Map, error) { return m.Received(p) },
			func(p Part) (*Map, error) { return m.Decide(p) },
			func(p Part) (*Map, error) { return m.Dropped(p) },
		} {
			n, err := f(v.Part)
			m = must(t, n, err)
		}
	}
	return must(t, m, m.Validate())
}

// TestHashesDiffer: the ids of a slot are spread over shards and buckets as all ids are.
func TestHashesDiffer(t *testing.T) {
	const ids, shards = 1 << 20, 8
	r := rand.New(rand.NewPCG(1, 1))
	for range 4 {
		other := r.Uint64()
		var high, low [shards]float64
		n := 0.0
		for i := range uint64(ids) {
			id := binary.LittleEndian.AppendUint64(nil, i)
			if SlotOf(id) >= Slots/64 {
				continue
			}
			h := cuckoo.Hash(other, id)
			high[h>>61]++
			low[h&7]++
			n++
		}
		for s := range shards {
			// Five standard deviations.
			if d := 5 * math.Sqrt(n/shards); math.Abs(high[s]-n/shards) > d || math.Abs(low[s]-n/shards) > d {
				t.Errorf("of %v ids of a group %v are in shard %d, %v in bucket %d", n, high[s], s, low[s], s)
			}
		}
	}
}

// TestSlotsStay: stored data depends on the hash.
func TestSlotsStay(t *testing.T) {
	for id, want := range map[string]uint16{"": 1511, "a": 3695, "node/21099166": 3048} {
		if s := SlotOf([]byte(id)); s != want {
			t.Errorf("%q is in slot %d, not in %d", id, s, want)
		}
	}
}

func TestRing(t *testing.T) {
	_, err := NewRing(groupsOf(1), 0)
	is(t, err, ErrMap, "0 points", "4096")
	_, err = NewRing(groupsOf(1), 4097)
	is(t, err, ErrMap, "4097")
	_, err = NewRing(nil, 1)
	is(t, err, ErrMap)
	three, err := NewRing(groupsOf(1, 2, 1), 256)
	if err != nil {
		t.Fatal(err)
	}
	four, err := NewRing(groupsOf(1, 2, 1, 1), 256)
	if err != nil {
		t.Fatal(err)
	}
	var has [3]float64
	const ids = 1 << 17
	for i := range ids {
		id := fmt.Append(nil, i)
		a, b := three.Of(id), four.Of(id)
		if a != b && b != 3 {
			t.Fatalf("%s moved from %d to %d", id, a, b)
		}
		has[a]++
	}
	for g, share := range []float64{0.25, 0.5, 0.25} {
		if got := has[g] / ids; math.Abs(got-share) > 0.2*share {
			t.Errorf("group %d has %.3f, want about %.2f", g, got, share)
		}
	}
	// By hand: the first point at or after the hash, and after the last one the first.
	for i := range 1000 {
		id := fmt.Append(nil, i)
		best, first, any := three.points[0], three.points[0], false
		for _, p := range three.points {
			if p.at < first.at {
				first = p
			}
			if p.at >= hashOf(id) && (!any || p.at < best.at) {
				best, any = p, true
			}
		}
		if !any {
			best = first
		}
		if got := three.Of(id); got != best.group {
			t.Fatalf("%s is of %d, not of %d", id, got, best.group)
		}
	}
}
