package peers

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/catfish-index/catfish/internal/affinity"
	"github.com/catfish-index/catfish/rstar"
)

// besideScales: searches that find next to nothing meet few changed
// nodes, those that find 100 objects many.
var besideScales = []string{"1e-4", "100-results"}

// besideRows search on one core while a writer deletes and inserts on another
// at full speed; writers=0 is the same without the writer. Only catfish is
// measured: no other peer documents that it may be searched during changes.
func (s *stand) besideRows(b *testing.B, f filter) {
	if runtime.GOMAXPROCS(0) < 2 {
		b.Fatalf("op=search-beside-writer: GOMAXPROCS is %d, want at least 2", runtime.GOMAXPROCS(0))
	}
	ours := s.peers[0]
	for _, scale := range besideScales {
		if !f.wants("scale", scale) {
			continue
		}
		for writers := range 2 {
			op := fmt.Sprintf("search-beside-writer/scale=%s/writers=%d", scale, writers)
			b.Run(s.name(op, ours.Name), func(b *testing.B) {
				qs, x := s.ready(b, ours, scale)
				besideRow(b, x, qs, s.w.deleteOrder(), writers > 0)
			})
		}
	}
}

func besideRow(b *testing.B, x Index, qs []rstar.Rect, order []rstar.Item, write bool) {
	cores, err := affinity.Available()
	if err != nil {
		b.Fatal(err)
	}
	if len(cores) < 2 {
		b.Fatalf("op=search-beside-writer: the process may use core %v only, want two", cores)
	}
	undo, err := pinThread(cores[len(cores)-1])
	if err != nil {
		b.Fatal(err)
	}
	defer undo()
	if !write {
		timeSearches(b, len(qs), x.Search(qs))
		return
	}
	w := startWriter(x, order, cores[0])
	timeSearches(b, len(qs), x.Search(qs))
	writes, err := w.finish()
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(writes, "writes/s")
}

// writer deletes objects and inserts them again, so that the tree keeps its
// size, until finish is called.
type writer struct {
	stop chan struct{}
	done chan error
	n    int
	took time.Duration
}

// startWriter returns when the writer works.
func startWriter(x Index, order []rstar.Item, core int) *writer {
	w := &writer{stop: make(chan struct{}), done: make(chan error, 1)}
	begun := make(chan struct{})
	go func() {
		undo, err := pinThread(core)
		close(begun)
		if err != nil {
			w.done <- err
			return
		}
		defer undo()
		w.done <- w.run(x, order)
	}()
	<-begun
	return w
}

func (w *writer) run(x Index, order []rstar.Item) error {
	begin := time.Now()
	defer func() { w.took = time.Since(begin) }()
	for i := 0; ; i = (i + 1) % len(order) {
		select {
		case <-w.stop:
			return nil
		default:
		}
		if err := x.Delete(order[i : i+1]); err != nil {
			return err
		}
		if err := x.Insert(order[i : i+1]); err != nil {
			return err
		}
		w.n += 2
	}
}

// finish ends the writer and returns the writes per second.
func (w *writer) finish() (float64, error) {
	close(w.stop)
	err := <-w.done
	return float64(w.n) / w.took.Seconds(), err
}
