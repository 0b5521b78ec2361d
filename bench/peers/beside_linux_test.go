package peers

import (
	"testing"

	"github.com/catfish-index/catfish/internal/affinity"
)

// TestSearchBesideWriter: the searches of op=search-beside-writer run while a
// writer works, which leaves the tree unchanged in the end.
func TestSearchBesideWriter(t *testing.T) {
	w, err := newWorkload("uniform", 20_000)
	if err != nil {
		t.Fatal(err)
	}
	s := newStand(w, "load", All()[:1])
	qs, err := s.queries("100-results")
	if err != nil {
		t.Fatal(err)
	}
	x := s.trees["catfish"]
	run := x.Search(qs)
	want := run(0, len(qs))
	cores, err := affinity.Available()
	if err != nil {
		t.Fatal(err)
	}
	wr := startWriter(x, w.deleteOrder(), cores[0])
	beside := run(0, len(qs))
	if _, err := wr.finish(); err != nil {
		t.Fatal(err)
	}
	// A delete hides its object from the running search, and from later ones
	// until the following insert; a search ends before more than a few
	// deletes.
	missed := want.Count - beside.Count
	if beside.Count > want.Count || missed > uint64(len(qs)) {
		t.Errorf("beside the writer %d objects are found, without %d", beside.Count, want.Count)
	}
	if got := run(0, len(qs)); got != want {
		t.Errorf("after the writer searches find %v, before %v", got, want)
	}
	if err := s.close(); err != nil {
		t.Error(err)
	}
}
