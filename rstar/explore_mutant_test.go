//go:build mutants

package rstar

import (
	"slices"
	"strings"
	"testing"
)

// TestMutants: whichever rule of publish.go is broken, the explorer finds a
// history that breaks a promise, and it finds none if all rules are kept.
//
// There is one exception: that (3) stores the header line's version last. By
// then all data are stored. A remote reader waits for the other lines anyway,
// and a local one reads nothing but data.
func TestMutants(t *testing.T) {
	defer func() { mutant = faithful }()
	for _, by := range strategies {
		t.Run(by.String(), func(t *testing.T) { testMutants(t, by) })
	}
}

func testMutants(t *testing.T, by Strategy) {
	var before, then [][]write
	for i := range scripts {
		setup, ws := scripts[i].find(t, by, 1)
		before, then = append(before, setup), append(then, ws)
	}
	for m := faithful; m < mutations; m++ {
		t.Run(m.String(), func(t *testing.T) {
			best, seen := "", map[string]int{}
			for i := range scripts {
				readers := bothReaders
				if m == faithful || m >= trustsCopies { // the other readers use no copies
					readers = append(slices.Clip(readers), validatingReader)
				}
				for _, rd := range readers {
					wrong := exploreMutant(t, by, m, before[i], then[i], rd)
					if wrong == nil {
						continue
					}
					seen[rd.name]++
					told := scripts[i].name + ":\n" + wrong.String()
					if best == "" || interest(told) < interest(best) {
						best = told
					}
				}
			}
			harmless := m == faithful || m == headerFirst
			if harmless != (best == "") {
				t.Fatalf("seen by the readers of so many scripts: %v\n%s", seen, best)
			}
			t.Logf("of %d scripts, seen by the readers of %v\n%s", len(scripts), seen, best)
		})
	}
}

// interest is least for the shortest counterexample, where one of a lost or
// duplicated object comes before one of an error.
func interest(told string) int {
	n := strings.Count(told, "\n")
	if strings.Contains(told, "wrong: an error") {
		n += 1000
	}
	return n
}

// exploreMutant explores the searches of one kind of reader while a mutant
// makes the writes ws.
func exploreMutant(t *testing.T, by Strategy, m mutation, setup, ws []write, rd reader) *violation {
	t.Helper()
	mutant = faithful
	c, err := record(explorerTree(t, by), setup, func() { mutant = m }, ws)
	if err != nil {
		t.Fatal(err)
	}
	rep, err := explore(c, []reader{rd}, c.rects())
	if err != nil {
		t.Fatal(err)
	}
	if rep.wrong == nil && rep.cut && (m == faithful || m == headerFirst) {
		t.Fatalf("%v: some contents of nodes were not explored", ws)
	}
	return rep.wrong
}
