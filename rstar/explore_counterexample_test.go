package rstar

import (
	"fmt"
	"slices"
	"strings"
)

// A violation as a counterexample, step by step: what the writer stores and
// what the readers read, in order of time (explore_test.go).

// event is something that a reader does right after the t-th store.
type event struct {
	t    int
	text string
}

// String returns v as a counterexample.
func (v *violation) String() string {
	c := v.by.x.c
	var es []event
	if v.broken {
		es = append(es, v.by.begins("search"))
		es = append(es, v.by.x.giveUp("search", v.by.broken, v.by.h.root, v.by.begin)...)
		return counterexample(c, es) + "wrong: an error, where a restart would do\n"
	}
	var wrong strings.Builder
	if v.first != nil {
		es = v.first.by.steps("search A", v.id, v.first.w)
		fmt.Fprintf(&wrong, "search A shows object %d after %d writes or more\n", v.id, v.lo)
	}
	if v.stuck {
		return counterexample(c, v.by.steps("search", 0, ending{})) +
			"wrong: the search cannot end, though no write is under way\n"
	}
	name := "search"
	if v.first != nil {
		name = "search B"
	}
	es = append(es, v.by.steps(name, v.id, v.w)...)
	fmt.Fprintf(&wrong, "wrong: object %d was %s; after %d to %d writes it is", v.id,
		v.by.x.atlas.show(v.w.finds), v.lo, v.hi)
	last := ""
	for k := v.lo; k <= v.hi; k++ {
		now := " absent"
		if r, ok := c.states[k][v.id]; ok {
			now = " at " + short(r)
		}
		if now != last {
			wrong.WriteString(now)
		}
		last = now
	}
	return counterexample(c, es) + wrong.String() + "\n"
}

// show names places.
func (a *atlas) show(f finds) string {
	if f == "" {
		return "not found"
	}
	text := "found"
	for ; f != ""; f = f[2:] {
		text += " at " + short(a.places[int(f[0])<<8|int(f[1])].Rect)
	}
	return text
}

// begins is the first event of r's search.
func (r *run) begins(name string) event {
	return event{r.begin, fmt.Sprintf("%s (%s) of %s begins, knows root %d at level %d and M = %d (read at %d)",
		name, r.x.reader.name, short(r.x.q), r.h.root.chunk, r.h.root.level, r.h.moves,
		min(r.begin, r.h.until))}
}

// steps are the steps of the search of r that ends with w for an object.
func (r *run) steps(name string, id uint64, w ending) []event {
	es := []event{r.begins(name)}
	if r.out.end == never {
		return es
	}
	es = append(es, r.x.retrace(name, r.h.root, r.h.moves, r.begin, id, w)...)
	return append(es, event{w.end, fmt.Sprintf("%s ends: object %d %s", name, id, r.x.show(w.finds))})
}

// retrace finds again what visit found: how to read the node at and
// everything below it so that it ends with w for an object.
func (x *explorer) retrace(name string, at ref, moves uint64, begin int, id uint64, w ending) []event {
	for _, s := range x.sightsOf(&x.reader, at.chunk) {
		if !x.readable(s, at, begin) {
			continue
		}
		items, refs, v := x.reader.look(x.c, s, at, moves, x.q)
		if v != nodeOK {
			continue
		}
		end := max(begin, s.from)
		own := x.leaf(items, end).of(id)[0]
		picks, ok := x.pick(refs, moves, end, id, own, w)
		if !ok {
			continue
		}
		es := x.reading(name, s, at, begin)
		for i, r := range refs {
			es = append(es, x.retrace(name, r, moves, end, id, picks[i])...)
		}
		return es
	}
	return nil
}

// giveUp finds again how visit reached the node that k names.
func (x *explorer) giveUp(name string, k *visitKey, at ref, begin int) []event {
	for _, s := range x.sightsOf(&x.reader, at.chunk) {
		if !x.readable(s, at, begin) {
			continue
		}
		_, refs, v := x.reader.look(x.c, s, at, k.moves, x.q)
		end := max(begin, s.from)
		if here := (visitKey{at, k.moves, begin}); v == nodeBroken && here == *k {
			l, n, chunk := unpackMeta(s.words[laneMeta])
			return []event{{end, fmt.Sprintf("%s reads chunk %d for level %d, finds chunk %d, level %#x, %d entries, and gives up",
				name, at.chunk, at.level, chunk, l, n)}}
		}
		for _, r := range refs {
			if es := x.giveUp(name, k, r, end); v == nodeOK && es != nil {
				return append(x.reading(name, s, at, begin), es...)
			}
		}
	}
	return nil
}

// pick chooses an ending for each child so that, with had, w results.
func (x *explorer) pick(refs []ref, moves uint64, begin int, id uint64, had, w ending) ([]ending, bool) {
	if len(refs) == 0 {
		return nil, had.finds == w.finds && had.end <= w.end
	}
	o := x.visit(refs[0], moves, begin)
	if o.end == never {
		return nil, false
	}
	for _, c := range o.of(id) {
		sum := ending{had.finds.with(c.finds), max(had.end, c.end)}
		if rest, ok := x.pick(refs[1:], moves, begin, id, sum, w); ok {
			return append([]ending{c}, rest...), true
		}
	}
	return nil, false
}

// reading describes how a sight is read: its lines, by time.
func (x *explorer) reading(name string, s *sight, at ref, begin int) (es []event) {
	chunk, end := at.chunk, max(begin, s.from)
	items, refs, _ := x.reader.look(x.c, s, at, ^uint64(0), x.q)
	what := fmt.Sprintf("%d children intersect", len(refs))
	if at.level == 0 {
		what = fmt.Sprintf("%d objects intersect", len(items))
	}
	if s.until < begin {
		return []event{{begin, fmt.Sprintf("%s takes chunk %d from its cache, as it was until %d: %s",
			name, chunk, s.until, what)}}
	}
	byTime := map[int][]string{}
	for l, p := range s.lines {
		t := min(end, p.until) // the latest, so that most are read at once
		byTime[t] = append(byTime[t], fmt.Sprint(l))
	}
	for t, ls := range byTime {
		if len(byTime) > 1 {
			es = append(es, event{t, fmt.Sprintf("%s reads of chunk %d the lines %s",
				name, chunk, strings.Join(ls, " "))})
		}
	}
	slices.SortFunc(es, func(a, b event) int { return a.t - b.t })
	return append(es, event{end, fmt.Sprintf("%s accepts chunk %d, level %d: version %d, stamp %d, %s",
		name, chunk, at.level, s.words[0], s.words[laneStamp], what)})
}

// counterexample merges events with the writer's stores up to the last of them.
func counterexample(c *trace, es []event) string {
	slices.SortStableFunc(es, func(a, b event) int { return a.t - b.t })
	var out strings.Builder
	step := 0
	say := func(format string, args ...any) {
		step++
		fmt.Fprintf(&out, "%3d. %s\n", step, fmt.Sprintf(format, args...))
	}
	t, call := 0, 0
	for _, e := range es {
		for t < e.t {
			for call < len(c.calls) && c.calls[call].begin <= t {
				say("%5d  writer begins the %v", t, c.calls[call].write)
				call++
			}
			until := e.t
			if call < len(c.calls) {
				until = min(until, c.calls[call].begin)
			}
			n := c.alike(t, until)
			say("%5d  writer stores %s", n, c.describe(t, n))
			t = n
			for _, w := range c.calls {
				if w.end == t {
					say("%5d  writer has done the %v", t, w.write)
				}
			}
		}
		say("%5d  %s", e.t, e.text)
	}
	return out.String()
}

// kind of a store: which chunk, and version or data.
func (c *trace) kind(s stored) (chunk int, version bool) {
	return s.word / c.tree.nodeWords, s.word%lanes == 0
}

// alike returns the end of the stores from t on that are of one kind.
func (c *trace) alike(t, until int) int {
	chunk, version := c.kind(c.stores[t])
	n := t + 1
	for n < until {
		ch, v := c.kind(c.stores[n])
		if ch != chunk || v != version || version && c.stores[n].value != c.stores[t].value {
			break
		}
		n++
	}
	return n
}

func (c *trace) describe(t, n int) string {
	chunk, version := c.kind(c.stores[t])
	var lines []int
	for _, s := range c.stores[t:n] {
		if l := s.word % c.tree.nodeWords / lanes; !slices.Contains(lines, l) {
			lines = append(lines, l)
		}
	}
	at := strings.Trim(fmt.Sprint(lines), "[]")
	switch {
	case version:
		return fmt.Sprintf("version %d to chunk %d, lines %s", c.stores[t].value, chunk, at)
	case chunk == 0:
		return "data to the header"
	}
	return fmt.Sprintf("data to chunk %d, lines %s", chunk, at)
}
