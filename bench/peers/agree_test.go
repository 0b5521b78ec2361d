package peers

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestPeersAgree is the check that precedes every benchmark, on a small data
// set of each kind: all peers find the same, before and after half of the
// objects are deleted, and delete the rest.
func TestPeersAgree(t *testing.T) {
	const n = 20_000 // two levels above the leaves of every peer
	if os.Getenv("CATFISH_ANDORRA") == "" {
		t.Setenv("CATFISH_ANDORRA", filepath.Join("..", "..", "datasets", "testdata", "andorra.osm.pbf"))
	}
	for _, data := range keys["data"] {
		for _, build := range keys["build"] {
			t.Run(fmt.Sprintf("data=%s/build=%s", data, build), func(t *testing.T) {
				w, err := newWorkload(data, n)
				if err != nil {
					t.Fatal(err)
				}
				s := newStand(w, build, All())
				defer func() {
					if err := s.close(); err != nil {
						t.Error(err)
					}
				}()
				checkStand(t, s)
				s.halve(t)
				checkStand(t, s)
				rest := w.deleteOrder()[n/2:]
				for _, p := range s.peers {
					if err := s.trees[p.Name].Delete(rest); err != nil {
						t.Errorf("%s: %v", p.Name, err)
					}
				}
			})
		}
	}
}

// halve deletes half of the objects, and drops peers that cannot delete.
func (s *stand) halve(t *testing.T) {
	var can []Peer
	for _, p := range s.peers {
		if !p.Deletes {
			continue
		}
		can = append(can, p)
		if err := s.trees[p.Name].Delete(s.w.deleteOrder()[:len(s.w.items)/2]); err != nil {
			t.Fatalf("%s: %v", p.Name, err)
		}
	}
	for _, p := range s.peers {
		if !p.Deletes {
			if err := s.drop(p); err != nil {
				t.Fatal(err)
			}
		}
	}
	s.peers = can
	clear(s.agree)
}

func checkStand(t *testing.T, s *stand) {
	t.Helper()
	for _, scale := range scales {
		if _, err := s.queries(scale); err != nil {
			t.Fatalf("scale %s: %v", scale, err)
		}
	}
	if _, err := s.points(); err != nil {
		t.Fatal(err)
	}
}

// TestHundredResults: searches of this scale find 100 objects on average.
func TestHundredResults(t *testing.T) {
	t.Setenv("CATFISH_ANDORRA", filepath.Join("..", "..", "datasets", "testdata", "andorra.osm.pbf"))
	for _, data := range keys["data"] {
		w, err := newWorkload(data, 100_000)
		if err != nil {
			t.Fatal(err)
		}
		s := newStand(w, "load", All()[:1])
		qs, err := s.queries("100-results")
		if err != nil {
			t.Fatal(err)
		}
		total := s.trees["catfish"].Search(qs)(0, len(qs))
		// The edge of the uniform set leaves out the objects' extent and
		// the border of the square; the others are calibrated to 1 % on
		// a sample.
		if mean := float64(total.Count) / float64(len(qs)); mean < 90 || mean > 110 {
			t.Errorf("data=%s: a search finds %.1f objects, want 90 to 110", data, mean)
		}
		if err := s.close(); err != nil {
			t.Error(err)
		}
	}
}
