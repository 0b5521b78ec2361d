package rstar

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "rewrite testdata/shape-*.txt")

// TestGoldenShape replays testdata/shape-*.txt: commands, and below each
// "shape" the expected tree at that point.
//
//	insert X Y ID   a point
//	delete X Y ID
//	load N          N points of a 100-wide grid, row by row
//	shape           levels, MBRs and ids
//
// Run with -rewrite to accept a new shape, and give the reason in the commit.
// Each strategy has a file of its own.
func TestGoldenShape(t *testing.T) {
	for _, by := range allStrategies {
		t.Run(by.String(), func(t *testing.T) { goldenShape(t, by) })
	}
}

func goldenShape(t *testing.T, by Strategy) {
	file := "testdata/shape-" + by.String() + ".txt"
	script, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	tr := newTree(t, Options{NodeBytes: 704, Strategy: by})
	var out strings.Builder
	for line := range strings.Lines(string(script)) {
		if strings.HasPrefix(line, "\t") {
			continue // an old shape
		}
		out.WriteString(line)
		var x, y float64
		var id uint64
		var n int
		switch {
		case scanf(line, "insert %g %g %d", &x, &y, &id):
			mustInsert(t, tr, Item{box(x, y, 0, 0), id})
		case scanf(line, "delete %g %g %d", &x, &y, &id):
			mustDelete(t, tr, Item{box(x, y, 0, 0), id})
		case scanf(line, "load %d", &n):
			var items []Item
			for i := range n {
				items = append(items, Item{box(float64(i%10), float64(i/10), 0, 0), uint64(i)})
			}
			if err := tr.Load(items); err != nil {
				t.Fatal(err)
			}
		case strings.TrimSpace(line) == "shape":
			drawShape(&out, tr, tr.at(tr.tx.root), "\t")
		}
		mustCheck(t, tr)
	}
	if *rewrite {
		if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if out.String() != string(script) {
		t.Fatalf("the shape differs from %s:\n%s", file, out.String())
	}
}

func scanf(line, format string, args ...any) bool {
	_, err := fmt.Sscanf(line, format, args...)
	return err == nil
}

func drawShape(out *strings.Builder, tr *Tree, n node, indent string) {
	r := n.mbr()
	fmt.Fprintf(out, "%slevel %d x %g..%g y %g..%g", indent, n.level(),
		r.MinX, r.MaxX, r.MinY, r.MaxY)
	if n.level() > 0 {
		fmt.Fprintln(out)
		for i := range n.count() {
			drawShape(out, tr, tr.at(uint32(n.ref(i))), indent+"  ")
		}
		return
	}
	fmt.Fprint(out, " ids")
	for i := range n.count() {
		fmt.Fprintf(out, " %d", n.ref(i))
	}
	fmt.Fprintln(out)
}

// TestLoadedShape: full leaves, no node below the minimum fill, and the
// caller's slice as it was.
func TestLoadedShape(t *testing.T) {
	for _, nodeBytes := range nodeSizes {
		for _, sp := range spaces[:(len(spaces)-1)/raceFactor+1] {
			for _, n := range []int{0, 1, 13, 14, 15, 43, 85, 197, 1000, 4321} {
				r := rand.New(rand.NewPCG(9, uint64(n)))
				items := sp.draw(r, n)
				was := append([]Item(nil), items...)
				tr := newTree(t, Options{NodeBytes: nodeBytes})
				if err := tr.Load(items); err != nil {
					t.Fatal(err)
				}
				mustCheck(t, tr)
				sameAnswers(t, tr, was, sp.rect(r))
				for i := range items {
					if items[i] != was[i] {
						t.Fatalf("Load changed item %d", i)
					}
				}
				if st := tr.Stats(); n >= 4321 && st.Fill[0] < 0.97 {
					t.Errorf("node %d, %s: leaves are %.3f full", nodeBytes, sp.name, st.Fill[0])
				}
				clear(items) // the tree must no longer read it
				sameAnswers(t, tr, was, sp.rect(r))
				if err := tr.Close(); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// TestMetric: no decision of the tree meets a NaN or an infinity.
func TestMetric(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	huge := Rect{-math.MaxFloat64, -math.MaxFloat64, math.MaxFloat64, math.MaxFloat64}
	for _, sp := range spaces {
		for range 200 {
			a, b := sp.rect(r), sp.rect(r)
			for _, world := range []Rect{a.Union(b), huge} {
				m := metricFor(world)
				for _, v := range []float64{
					m.area(a), m.margin(a), m.overlap(a, b), m.area(a.Union(b)),
					84 * m.area(world), 84 * m.margin(world), m.centerDistance(a, b),
				} {
					if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
						t.Fatalf("%s: %v from %v and %v in %v", sp.name, v, a, b, world)
					}
				}
				if m.area(a.Union(b)) < m.area(a) || m.overlap(a, b) > m.area(a) {
					t.Fatalf("%s: areas of %v and %v disagree", sp.name, a, b)
				}
			}
		}
	}
	if m := metricFor(box(0, 0, 8, 8)); m.area(box(1, 1, 4, 2)) != 2 ||
		m.margin(box(1, 1, 4, 2)) != 3 || m.overlap(box(0, 0, 4, 4), box(2, 2, 4, 4)) != 1 {
		t.Fatal("quarter areas are wrong")
	}
}

func TestOrderedBits(t *testing.T) {
	vs := []float64{-math.MaxFloat64, -1, -math.SmallestNonzeroFloat64, 0,
		math.SmallestNonzeroFloat64, 1, math.MaxFloat64}
	for i := 1; i < len(vs); i++ {
		if orderedBits(vs[i-1]) >= orderedBits(vs[i]) {
			t.Errorf("%v is not below %v", vs[i-1], vs[i])
		}
	}
	if orderedBits(math.Copysign(0, -1)) != orderedBits(0) {
		t.Error("-0 differs from 0")
	}
}
