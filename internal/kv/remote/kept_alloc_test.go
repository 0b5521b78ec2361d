//go:build !ofi

package remote

import (
	"context"
	"testing"
	"time"

	"github.com/catfish-index/catfish/offload"
)

// Not over ofi, which allocates for each completion.
func TestGetAllocatesNothing(t *testing.T) {
	c := &stopped{now: time.Hour}
	s := newSiteBy(t, c.Now)
	r := s.dial()
	const n = 16
	keys, kept, answers := make([][]byte, n), make([]Kept, n), make([]Answer, n)
	for i := range n {
		s.put(t, i, "value")
		keys[i] = key(i)
	}
	for i := range n {
		kept[i] = s.keep(t, r, i)
	}
	for i := range n / 2 {
		s.put(t, i, "other")
	}
	ctx := context.Background()
	for name, f := range map[string]func() error{
		"one":  func() error { _, err := r.Get(ctx, s.known, keys[0]); return err },
		"many": func() error { return r.GetMany(ctx, s.known, keys, answers) },
		"kept": func() error { return r.GetKept(ctx, s.known, keys, kept, answers) },
	} {
		if n := testing.AllocsPerRun(100, func() {
			if err := f(); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
	if st := (offload.Stats{}); r.Stats() == st {
		t.Error("nothing was read")
	}
}
