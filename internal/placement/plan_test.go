package placement

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// settled returns the map after plans of slots until nothing moves, and what moved.
func settled(t testing.TB, m *Map, load *[Slots]uint64, b Budget) (*Map, uint64) {
	t.Helper()
	var bytes uint64
	for range 100 {
		moves, err := m.Balance(load, b)
		if err != nil {
			t.Fatal(err)
		}
		if len(moves) == 0 {
			return m, bytes
		}
		for _, v := range moves {
			bytes += load[v.Slot]
		}
		m = doneMoves(t, m, moves)
	}
	t.Fatal("100 plans, and slots still move")
	return nil, 0
}

// held returns what each group has.
func held(m *Map, load *[Slots]uint64) []uint64 {
	has := make([]uint64, len(m.Groups))
	for s, g := range m.Slots {
		has[g] += load[s]
	}
	return has
}

// TestBalance: whatever slots have, a plan gives no group more than its share that it did not
// have, takes none from groups below it, drains groups of weight 0, and ends within the
// largest slot of each share.
func TestBalance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := aMap(t)
		m.Moves = nil
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		skew := rapid.Float64Range(0, 8).Draw(t, "skew")
		var load [Slots]uint64
		var most, total, all uint64
		for s := range load {
			load[s] = uint64(1e6 * math.Pow(r.Float64(), skew))
			most, total = max(most, load[s]), total+load[s]
		}
		for _, g := range m.Groups {
			all += uint64(g.Weight)
		}
		before := held(m, &load)
		after, bytes := settledRapid(t, m, &load)
		var excess uint64
		drains := false // then a slot may go beyond a share, and another one follow from there
		for g, has := range held(after, &load) {
			w := uint64(m.Groups[g].Weight)
			share := total * w / all
			drains = drains || (w == 0 && before[g] > 0)
			slack := uint64(Slots) // a byte more for each slot
			switch {
			case w == 0:
				if slots, _ := after.owned(Index(g)); slots > 0 {
					t.Fatalf("group %d is drained, and has %d slots", g, slots)
				}
			case has > max(before[g], share)+most+slack:
				t.Fatalf("group %d had %d, has %d, and its share is %d", g, before[g], has, share)
			case has+slack < min(before[g], share):
				t.Fatalf("group %d had %d, has %d, and its share is %d", g, before[g], has, share)
			}
			if before[g] > share {
				excess += before[g] - share
			}
		}
		if !drains && bytes > excess+Slots {
			t.Fatalf("%d bytes moved, %d were above the shares", bytes, excess)
		}
	})
}

// settledRapid is settled, within a property.
func settledRapid(t *rapid.T, m *Map, load *[Slots]uint64) (*Map, uint64) {
	var bytes uint64
	for range 100 {
		moves, err := m.Balance(load, Budget{})
		if err != nil {
			t.Fatal(err)
		}
		again, _ := m.Balance(load, Budget{})
		if !slices.Equal(again, moves) {
			t.Fatal("two plans of one map differ")
		}
		if len(moves) == 0 {
			return m, bytes
		}
		m = m.next()
		for _, v := range moves {
			bytes += load[v.Slot]
			if m.Slots[v.Slot] != v.From {
				t.Fatalf("%v is not of %d", v.Part, v.From)
			}
			m.Slots[v.Slot] = v.To
		}
	}
	t.Fatal("100 plans, and slots still move")
	return nil, 0
}

func evenLoad(each uint64) *[Slots]uint64 {
	var load [Slots]uint64
	for s := range load {
		load[s] = each
	}
	return &load
}

func TestBudget(t *testing.T) {
	m, err := New(groupsOf(1, 1, 1))
	m = must(t, m, err)
	m, err = m.AddGroup("d", 1)
	m = must(t, m, err)
	load := evenLoad(1000)
	plan := func(b Budget) []Move {
		t.Helper()
		moves, err := m.Balance(load, b)
		if err != nil {
			t.Fatal(err)
		}
		return moves
	}
	for _, c := range []struct {
		b    Budget
		want int
	}{
		{Budget{}, MaxMoves}, {Budget{Moves: 10}, 10}, {Budget{Moves: 1000}, MaxMoves}, {Budget{Bytes: 1000}, 0},
		{Budget{Bytes: 1001}, 1}, {Budget{Bytes: 7600}, 7}, {Budget{Tolerance: 0.9}, MaxMoves}, {Budget{Tolerance: 1}, 0},
	} {
		if n := len(plan(c.b)); n != c.want {
			t.Errorf("%+v: %d moves, want %d", c.b, n, c.want)
		}
	}
	// Moves under way count as done, and leave less room.
	m, err = m.Begin(plan(Budget{Moves: 250})...)
	m = must(t, m, err)
	more := plan(Budget{})
	if len(more) != MaxMoves-250 {
		t.Errorf("%d more", len(more))
	}
	m, err = m.Begin(more...)
	m = must(t, m, err)
	if len(plan(Budget{})) != 0 {
		t.Error("more moves than a map has room for")
	}
	load[9] = MaxLoad + 1
	_, err = m.Balance(load, Budget{})
	is(t, err, ErrLoad, "slot 9", "1125899906842625", "1125899906842624")
}

// TestFourthGroup: it costs at most its share, also if slots are empty.
func TestFourthGroup(t *testing.T) {
	for _, each := range []uint64{0, 1000} {
		load := evenLoad(each)
		m, err := New(groupsOf(1, 1, 1))
		m = must(t, m, err)
		n, err := m.AddGroup("d", 1)
		n, bytes := settled(t, must(t, n, err), load, Budget{})
		for g := range n.Groups {
			if slots, _ := n.owned(Index(g)); slots != Slots/4 {
				t.Errorf("group %d has %d slots", g, slots)
			}
		}
		if bytes > each*Slots/4 {
			t.Errorf("%d bytes moved", bytes)
		}
		n, err = n.Weigh(1, 0)
		n, _ = settled(t, must(t, n, err), load, Budget{Tolerance: 0.5})
		if slots, _ := n.owned(1); slots != 0 {
			t.Errorf("%d slots are left", slots)
		}
		n, err = n.RemoveGroup(1)
		if len(must(t, n, err).Groups) != 3 {
			t.Error("not removed")
		}
	}
}

// TestDrainMovesNothingElse: within the tolerance only what is drained gives.
func TestDrainMovesNothingElse(t *testing.T) {
	m, err := New(groupsOf(4, 1, 1))
	m = must(t, m, err)
	for g, weight := range []uint8{1, 1, 0} {
		m, err = m.Weigh(Index(g), weight)
		m = must(t, m, err)
	}
	before, _ := m.owned(0)
	m, _ = settled(t, m, evenLoad(1000), Budget{Tolerance: 1})
	if after, _ := m.owned(0); after != before {
		t.Errorf("group 0 had %d slots, has %d", before, after)
	}
	if left, _ := m.owned(2); left != 0 {
		t.Errorf("group 2 has %d slots", left)
	}
}

// settledBoxes returns the map after plans of ranges until nothing moves, and how many
// samples moved.
func settledBoxes(t testing.TB, m *Map, sample []uint64, b Budget) (*Map, int) {
	t.Helper()
	sorted, n := slices.Sorted(slices.Values(sample)), 0
	for range 100 {
		split, moves, err := m.BalanceBoxes("roads", sample, 10, b)
		if err != nil {
			t.Fatal(err)
		}
		if len(moves) == 0 {
			return m, n
		}
		if split != m && split.Version != m.Version+1 {
			t.Fatalf("version %d after %d", split.Version, m.Version)
		}
		for _, v := range moves {
			at := split.Boxes[0].at(v.Start)
			n += len(inside(split.Boxes[0].Ranges, at, sorted))
		}
		m = doneMoves(t, must(t, split, split.Validate()), moves)
	}
	t.Fatal("100 plans, and ranges still move")
	return nil, 0
}

func heldBoxes(m *Map, sample []uint64) []int {
	has := make([]int, len(m.Groups))
	for _, p := range sample {
		has[m.Boxes[0].Ranges[m.Boxes[0].at(p)].Group]++
	}
	return has
}

// TestBalanceBoxes: as for slots, but ranges are cut where they need be, so that shares are
// exact as far as positions differ.
func TestBalanceBoxes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		weights := rapid.SliceOfN(rapid.Uint8Range(0, 3), 1, 6).Draw(rt, "weights")
		weights[0]++
		m, err := New(groupsOf(weights...))
		m = must(t, m, err)
		m, err = m.AddBoxes("roads", world, nil, nil)
		m = must(t, m, err)
		now := rapid.SliceOfN(rapid.Uint8Range(0, 3), len(weights), len(weights)).Draw(rt, "later")
		now[0]++
		all := 0
		for g, w := range now {
			m, err = m.Weigh(Index(g), w)
			m = must(t, m, err)
			all += int(w)
		}
		sample := rapid.SliceOfNDistinct(rapid.Uint64(), 1, 60, rapid.ID).Draw(rt, "sample")
		if rapid.Bool().Draw(rt, "equal ones") {
			sample = append(sample, sample...)
		}
		copies := len(sample) / len(slices.Compact(slices.Sorted(slices.Values(sample))))
		before, excess := heldBoxes(m, sample), 0
		after, n := settledBoxes(t, m, sample, Budget{})
		for g, has := range heldBoxes(after, sample) {
			share := len(sample) * int(now[g]) / all
			if d := has - share; d < -copies*len(weights) || d > copies*len(weights) {
				rt.Fatalf("group %d has %d, had %d, and its share is %d", g, has, before[g], share)
			}
			excess += max(before[g]-share, 0)
			if _, ranges := after.owned(Index(g)); now[g] == 0 && ranges > 0 {
				rt.Fatalf("group %d is drained, and has %d ranges", g, ranges)
			}
		}
		if n > excess+copies*len(weights) {
			rt.Fatalf("%d samples moved, %d were above the shares", n, excess)
		}
	})
}

// TestFourthGroupOfBoxes: it gets a quarter, in two ranges since pieces adjoin.
func TestFourthGroupOfBoxes(t *testing.T) {
	var sample []uint64
	r := rand.New(rand.NewPCG(1, 2))
	for range 1200 {
		sample = append(sample, r.Uint64())
	}
	m, err := New(groupsOf(1, 1, 1))
	m = must(t, m, err)
	m, err = m.AddBoxes("roads", world, sample, nil)
	m = must(t, m, err)
	m, err = m.AddGroup("d", 1)
	m = must(t, m, err)
	_, moves, err := m.BalanceBoxes("roads", sample, 1<<20, Budget{Bytes: 150 << 20})
	if err != nil || len(moves) != 2 {
		t.Errorf("%d moves, want one of 100 samples and one of 50; %v", len(moves), err)
	}
	if same, moves, err := m.BalanceBoxes("roads", sample, 1, Budget{Tolerance: 1}); same != m || len(moves) > 0 || err != nil {
		t.Errorf("%d moves within the tolerance; %v", len(moves), err)
	}
	n, moved := settledBoxes(t, m, sample, Budget{})
	if has := heldBoxes(n, sample); !slices.Equal(has, []int{300, 300, 300, 300}) || moved != 300 {
		t.Errorf("%v, moved %d", has, moved)
	}
	for {
		i := 1
		ranges := n.Boxes[0].Ranges
		for i < len(ranges) && ranges[i].Group != ranges[i-1].Group {
			i++
		}
		if i == len(ranges) {
			break
		}
		n, err = n.Join("roads", ranges[i].Start)
		n = must(t, n, err)
	}
	if _, ranges := n.owned(3); ranges != 2 {
		t.Errorf("%d ranges: %v", ranges, n.Boxes[0].Ranges)
	}
	_, _, err = m.BalanceBoxes("rails", sample, 1, Budget{})
	is(t, err, ErrUnknown, `"rails"`)
	_, _, err = m.BalanceBoxes("roads", nil, 1, Budget{})
	is(t, err, ErrLoad, "0 samples")
	_, _, err = m.BalanceBoxes("roads", sample, math.MaxUint64, Budget{})
	is(t, err, ErrLoad, "1200 samples", "1125899906842624")
}
