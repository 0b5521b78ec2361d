package rstar

import (
	"fmt"
	"slices"
)

// What the searches of a trace must show (explore_test.go): each object is a register,
// whose writes follow one another. A search that begins at s and ends at e reads from
// each register a state that is
//
//   - not older than the writes acknowledged by s,
//   - not newer than the writes begun before e,
//   - not older than what a search that ended by s has read.
//
// A history is linearizable if assigning to each read the oldest state that it can
// have, in order of time, never fails. So for each time it is enough to know need: the
// newest state that some history up to then has read for certain.

// run is all searches that begin at one time with one header.
type run struct {
	x     *explorer
	h     header
	begin int
	out   *outcome

	broken *visitKey // a node that the reader gave up at
}

// seen is a state that a search has read for certain.
type seen struct {
	k  int // the state
	by *run
	w  ending
}

// violation is a history that breaks a promise.
type violation struct {
	by     *run
	broken bool // the reader gave up with an error
	stuck  bool // the reader can only begin again, whatever it does
	id     uint64
	w      ending
	lo, hi int   // the states allowed, lo to hi
	first  *seen // the earlier search that determines lo; nil if the writer does
}

// judge knows the states that searches must show.
type judge struct {
	*atlas
	times []int
	ids   []uint64           // objects that the writes change
	need  map[uint64]*seen   // as of the present time
	later []map[uint64]*seen // what need becomes, by time
}

// newJudge judges searches that begin and end at these times.
func newJudge(a *atlas, times []int) *judge {
	j := &judge{atlas: a, times: times, need: map[uint64]*seen{}}
	for range times {
		j.later = append(j.later, map[uint64]*seen{})
	}
	known := map[uint64]bool{}
	for _, state := range a.c.states {
		for id := range state {
			known[id] = true
		}
	}
	for id := range known {
		j.ids = append(j.ids, id)
	}
	slices.Sort(j.ids)
	return j
}

// must returns the places where a search of q finds an object in state k.
func (j *judge) must(id uint64, k int, q Rect) finds {
	if r, ok := j.c.states[k][id]; ok && r.Intersects(q) {
		return j.place(Item{r, id})
	}
	return ""
}

// judge returns what is wrong with a run, and whether it changed the states that
// searches that begin at the same time must show.
func (j *judge) judge(r *run) (wrong *violation, again bool) {
	if r.out.end == never {
		return nil, false
	}
	ids := j.ids
	for id := range r.out.endings {
		if _, ok := slices.BinarySearch(j.ids, id); !ok {
			ids = append(slices.Clip(ids), id)
		}
	}
	acked := j.c.acked(r.begin)
	for _, id := range ids {
		for _, w := range r.out.of(id) {
			lo, first := acked, (*seen)(nil)
			if n := j.need[id]; n != nil && n.k > lo {
				lo, first = n.k, n
			}
			hi := max(acked, j.c.begun(w.end))
			k := lo
			for k <= hi && j.must(id, k, r.x.q) != w.finds {
				k++
			}
			if k > hi {
				return &violation{by: r, id: id, w: w, lo: lo, hi: hi, first: first}, again
			}
			if k > acked {
				again = j.raise(&seen{k, r, w}, id) || again
			}
		}
	}
	return nil, again
}

// raise notes the states that searches that begin after s has ended must show, and says
// whether this holds for those that begin at the present time.
func (j *judge) raise(s *seen, id uint64) bool {
	i, ok := slices.BinarySearch(j.times, s.w.end)
	if !ok {
		panic(fmt.Sprintf("a search ends at time %d, which is not in %v", s.w.end, j.times))
	}
	if n := j.later[i][id]; n == nil || n.k < s.k {
		j.later[i][id] = s
	}
	if n := j.need[id]; s.w.end == s.by.begin && (n == nil || n.k < s.k) {
		j.need[id] = s
		return true
	}
	return false
}

// begin continues with the i-th time.
func (j *judge) begin(i int) {
	for id, s := range j.later[i] {
		if n := j.need[id]; n == nil || n.k < s.k {
			j.need[id] = s
		}
	}
}

// report is what an exploration found.
type report struct {
	searches int  // begins, headers and rectangles
	looks    int  // nodes read, by content, time and header
	cut      bool // not everything was explored
	wrong    *violation
}

// explore explores all searches of c by these readers for these
// rectangles, until one is wrong.
func explore(c *trace, readers []reader, qs []Rect) (rep report, err error) {
	a := newAtlas(c)
	hs, err := c.headers()
	if err != nil {
		return rep, err
	}
	var xs []*explorer
	for _, rd := range readers {
		for _, q := range qs {
			xs = append(xs, &explorer{
				atlas: a, reader: rd, q: q, memo: map[visitKey]*outcome{},
			})
		}
	}
	j := newJudge(a, a.times(readers, hs))
	for i, t := range j.times {
		j.begin(i)
		runs := runsAt(xs, hs, t)
		rep.searches += len(runs)
		rep.wrong = j.judgeAll(runs)
		rep.looks, rep.cut = a.looks, a.cut
		if rep.wrong != nil {
			break
		}
	}
	return rep, nil
}

// runsAt makes the runs that begin at time t.
func runsAt(xs []*explorer, hs []header, t int) (runs []*run) {
	for _, x := range xs {
		for _, h := range hs {
			if x.reader.stale && h.from <= t && !h.repeats || h.from <= t && t <= h.until {
				x.broken = nil
				out := x.visit(h.root, h.moves, t)
				runs = append(runs, &run{x, h, t, out, x.broken})
			}
		}
	}
	return runs
}

func (j *judge) judgeAll(runs []*run) *violation {
	for again := true; again; {
		again = false
		for _, r := range runs {
			if r.broken != nil {
				return &violation{by: r, broken: true}
			}
			if r.out.end == never && j.quiet(r) {
				return &violation{by: r, stuck: true}
			}
			wrong, more := j.judge(r)
			if wrong != nil {
				return wrong
			}
			again = again || more
		}
	}
	return nil
}

// quiet reports whether no write is in flight when r begins, and r knows the present
// header.
func (j *judge) quiet(r *run) bool {
	t := r.begin
	return j.c.acked(t) == j.c.begun(t) && r.h.from <= t && t <= r.h.until
}

// times lists the times at which something that matters to a reader begins or ends;
// explore_test.go argues why no others need be explored.
func (a *atlas) times(readers []reader, hs []header) []int {
	ts := []int{0, a.c.end}
	for _, w := range a.c.calls {
		ts = append(ts, w.begin, w.end)
	}
	for _, h := range hs {
		ts = append(ts, h.from, h.until)
	}
	for i := range readers {
		for chunk := uint32(1); chunk < a.c.chunks(); chunk++ {
			for _, s := range a.sightsOf(&readers[i], chunk) {
				ts = append(ts, s.from, s.until)
			}
			if readers[i].validates { // single lines, first lines
				for _, line := range a.c.nodeLines(chunk)[:HeadBytes(a.c.tree.NodeBytes())/LineBytes] {
					for _, p := range line {
						ts = append(ts, p.from, p.until)
					}
				}
			}
		}
	}
	slices.Sort(ts)
	return slices.Compact(ts)
}
