package peers

import (
	"fmt"
	"os"
	"runtime"
	"testing"

	"github.com/catfish-index/catfish/rstar"
)

// BenchmarkTree has a row for each data set, way to build, operation and
// library:
//
//	data=uniform/build=insert/op=search/scale=1e-5/impl=catfish
//
// The libraries of a row follow one another, so that a slow phase of the
// machine affects all of them. ns/op is a search; ns/object a share of an
// operation on the whole tree: growing from empty to n by inserts, shrinking
// to empty by deletes, one bulk load; B/entry is the memory of a tree divided
// by its objects; core-%, with one core, is the processor time of a row
// divided by its wall time: well below 100, another program ran on the core,
// and the wall time means little.
//
// Variables: CATFISH_BENCH_OBJECTS (default 2000000), CATFISH_BENCH_PEERS
// (default all), CATFISH_BENCH_ROWS (see parseFilter), CATFISH_ANDORRA (a
// file; without it the data set is left out).
func BenchmarkTree(b *testing.B) {
	n, err := objectsWanted()
	if err != nil {
		b.Fatal(err)
	}
	peers, err := peersWanted()
	if err != nil {
		b.Fatal(err)
	}
	rows, err := parseFilter(os.Getenv("CATFISH_BENCH_ROWS"))
	if err != nil {
		b.Fatal("CATFISH_BENCH_ROWS: ", err)
	}
	for _, data := range keys["data"] {
		if rows.none() || !rows.wants("data", data) {
			continue
		}
		w, err := newWorkload(data, n)
		if err != nil {
			b.Fatal(err)
		}
		if w == nil {
			fmt.Printf("# data=%s left out: CATFISH_ANDORRA names no file\n", data)
			continue
		}
		for _, build := range keys["build"] {
			if rows.wants("build", build) {
				s := newStand(w, build, peers)
				s.rows(b, rows)
				if err := s.close(); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
}

// rows runs the wanted rows. Building comes first, as the others share its
// trees, and deleting last.
func (s *stand) rows(b *testing.B, f filter) {
	if op := s.build; f.wants("op", op) {
		if op == "load" {
			op = fmt.Sprintf("load/cores=%d", runtime.GOMAXPROCS(0))
		}
		s.each(b, op, s.buildRow)
	}
	if f.wants("op", "memory") {
		s.each(b, "memory", s.memoryRow)
	}
	if f.wants("op", "search") {
		for _, scale := range scales {
			if f.wants("scale", scale) {
				s.searchRows(b, scale)
			}
		}
	}
	if f.wants("op", "nearest") {
		s.each(b, fmt.Sprintf("nearest/k=%d", nearestK), s.nearestRow)
	}
	if f.wants("op", "search-beside-writer") {
		s.besideRows(b, f)
	}
	if f.wants("op", "delete") {
		s.each(b, "delete", s.deleteRow)
	}
}

func (s *stand) name(op string, impl string) string {
	return fmt.Sprintf("data=%s/build=%s/op=%s/impl=%s", s.w.data, s.build, op, impl)
}

// each runs one row of every peer that offers the operation.
func (s *stand) each(b *testing.B, op string, row func(b *testing.B, p Peer)) {
	for _, p := range s.peers {
		if op == "delete" && !p.Deletes || op == "nearest/k=10" && !p.Nearest {
			continue
		}
		b.Run(s.name(op, p.Name), func(b *testing.B) { row(b, p) })
	}
}

func (s *stand) buildRow(b *testing.B, p Peer) {
	c := clock{b: b}
	b.StopTimer()
	for range b.N {
		if err := s.fill(p, c.start, c.stop); err != nil {
			b.Fatal(err)
		}
	}
	s.reportPerObject(&c)
}

func (s *stand) deleteRow(b *testing.B, p Peer) {
	c := clock{b: b}
	b.StopTimer()
	order := s.w.deleteOrder()
	for range b.N {
		x, err := s.tree(p)
		if err != nil {
			b.Fatal(err)
		}
		runtime.GC()
		c.start()
		err = x.Delete(order)
		c.stop()
		if err != nil {
			b.Fatal(err)
		}
		if err := s.drop(p); err != nil {
			b.Fatal(err)
		}
	}
	s.reportPerObject(&c)
}

func (s *stand) reportPerObject(c *clock) {
	b := c.b
	c.report()
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(s.w.items)), "ns/object")
	b.ReportMetric(0, "ns/op")
}

func (s *stand) memoryRow(b *testing.B, p Peer) {
	if _, err := s.tree(p); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(s.bytes[p.Name])/float64(len(s.w.items)), "B/entry")
	b.ReportMetric(0, "ns/op")
}

func (s *stand) searchRows(b *testing.B, scale string) {
	s.each(b, "search/scale="+scale, func(b *testing.B, p Peer) {
		qs, x := s.ready(b, p, scale)
		timeSearches(b, len(qs), x.Search(qs))
	})
	for _, p := range s.peers[:1] { // only catfish is an Appender
		b.Run(s.name("search/scale="+scale, p.Name+"-append"), func(b *testing.B) {
			qs, x := s.ready(b, p, scale)
			timeSearches(b, len(qs), x.(Appender).SearchAppend(qs))
		})
	}
}

// ready returns the queries and the tree, which have passed the check.
func (s *stand) ready(b *testing.B, p Peer, scale string) ([]rstar.Rect, Index) {
	qs, err := s.queries(scale)
	if err != nil {
		b.Fatal(err)
	}
	x, err := s.tree(p)
	if err != nil {
		b.Fatal(err)
	}
	return qs, x
}

// timeSearches runs b.N queries, in batches, over and over again.
func timeSearches(b *testing.B, n int, run func(lo, hi int) Answer) {
	var total Answer
	c := clock{b: b}
	b.StopTimer()
	runtime.GC()
	b.ResetTimer()
	c.start()
	for done := 0; done < b.N; {
		lo := done % n
		hi := min(lo+Batch, n, lo+b.N-done)
		total.Add(run(lo, hi))
		done += hi - lo
	}
	c.stop()
	c.report()
	b.ReportMetric(float64(total.Count)/float64(b.N), "results/op")
}

func (s *stand) nearestRow(b *testing.B, p Peer) {
	qs, err := s.points()
	if err != nil {
		b.Fatal(err)
	}
	x, err := s.tree(p)
	if err != nil {
		b.Fatal(err)
	}
	run := x.Nearest(qs, nearestK)
	ids := make([]uint64, Batch*nearestK)
	timeSearches(b, len(qs), func(lo, hi int) Answer {
		run(lo, hi, ids)
		return Answer{Count: uint64((hi - lo) * nearestK)}
	})
}
