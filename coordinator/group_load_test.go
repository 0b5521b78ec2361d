package coordinator

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/catfishtest"
	"github.com/catfish-index/catfish/internal/fault"
	"github.com/catfish-index/catfish/internal/store/disk"
	"github.com/catfish-index/catfish/rstar"
)

// A bulk load that a change of the primary cuts fails, with an error that names it, and the
// next primary drops what is left of it.
func TestBulkLoadEndsWithThePrimary(t *testing.T) {
	t.Parallel()
	registry, members, _ := startGroup(t, startHere)
	items := make([]rstar.Item, 300_000)
	for i := range items {
		items[i] = rstar.Item{Rect: catfishtest.Square(float64(i%1000), float64(i/1000)), ID: uint64(i)}
	}
	primary := func() string { return groupOf(t, registry).Primary }
	cut := false
	for n := 0; !cut; n++ {
		if n == 20 {
			t.Fatal("no load was cut")
		}
		old, name := primary(), fmt.Sprint("boxes", n)
		next := []string{"n1", "n2", "n3"}[(slices.Index([]string{"n1", "n2", "n3"}, old)+1)%3]
		c, err := members[old].daemon.Server().CreateKept(name)
		if err != nil {
			t.Fatal(err)
		}
		loaded := make(chan error, 1)
		go func() { loaded <- c.Load(items) }()
		switchTo(t, registry, "g", next)
		err = <-loaded
		catfishtest.Eventually(t, "the next member is the primary", func() bool { return primary() == next })
		if cut = err != nil; cut && !errors.Is(err, model.ErrNotPrimary) && !errors.Is(err, fault.ErrUnknownOutcome) {
			t.Errorf("the load: %v", err)
		}
		catfishtest.Eventually(t, "the next primary takes writes", func() bool {
			_, err := members[next].daemon.Server().CreateKept("after-" + name)
			return err == nil
		})
	}
	// A copy has what is in the log: the collections, and no load.
	st, err := members[primary()].daemon.Server().Store()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	catfishtest.Eventually(t, "what is left is dropped", func() bool {
		n++
		r, err := st.Checkpoint(filepath.Join(t.TempDir(), fmt.Sprint("copy", n)))
		return err == nil && !slices.ContainsFunc(r.Collections, func(m disk.Meta) bool { return strings.Contains(string(m.Metadata), "loading") })
	})
}
