package datasets

import (
	"errors"
	"fmt"
	"math"
	"runtime/debug"

	"github.com/catfish-index/catfish/internal/hostmem"
	"github.com/catfish-index/catfish/rstar"
)

const itemBytes = 40

// Gather collects items in memory, and refuses more than fit before it
// allocates: a program that needs more memory than the machine has cannot
// continue. The zero value is ready.
type Gather struct {
	// Most objects; 0 is without a limit. One more is ErrTooMany.
	Most int64
	// BytesEach is what an object will take elsewhere, such as in a tree,
	// while the items are held as well.
	BytesEach int64

	items     []rstar.Item
	available func() (bytes int64, known bool) // in tests; nil: this host's
}

// NewGather returns a Gather of what one Load can put into an empty tree.
func NewGather(t *rstar.Tree) *Gather {
	const loadBytes = 20 // what Load itself takes for an object
	room := int64(t.LoadRoom())
	return &Gather{Most: room, BytesEach: loadBytes + t.Stats().SlabBytes/max(room, 1)}
}

// ErrTooMany is wrapped by Gather's errors when there are more objects than
// Most.
var ErrTooMany = errors.New("too many objects")

// Expect makes room for all items of a source that knows their number, and
// fails if they do not fit.
func (g *Gather) Expect(s *Source) error {
	if n := s.Count(); n > 0 {
		return g.grow(int64(len(g.items))+n, s)
	}
	return nil
}

// Add appends an item of s.
func (g *Gather) Add(it rstar.Item, s *Source) error {
	if n := int64(len(g.items)); n == int64(cap(g.items)) || n == g.Most {
		if err := g.grow(n+1, s); err != nil {
			return err
		}
	}
	g.items = append(g.items, it)
	return nil
}

// Items returns the gathered items. The caller owns them.
func (g *Gather) Items() []rstar.Item { return g.items }

// grow makes room for n items in all.
func (g *Gather) grow(n int64, s *Source) error {
	if g.Most > 0 && n > g.Most {
		more := ""
		if s.Count() > 0 {
			more = fmt.Sprintf(", %s has %d", s.name, s.Count())
		}
		return fmt.Errorf("datasets: %w: no more than %d fit%s", ErrTooMany, g.Most, more)
	}
	if n <= int64(cap(g.items)) {
		return nil
	}
	size := n
	if s.Count() == Unknown {
		size = max(n, int64(cap(g.items))*5/4, 1<<10)
		if g.Most > 0 {
			size = min(size, g.Most)
		}
	}
	if err := g.fits(size, s); err != nil {
		return err
	}
	g.items = append(make([]rstar.Item, 0, size), g.items...)
	return nil
}

// fits compares the memory for n items with what is available. Memory already
// held is not available any more.
func (g *Gather) fits(n int64, s *Source) error {
	available := g.available
	if available == nil {
		available = hostmem.Available
	}
	if n > math.MaxInt64/(itemBytes+g.BytesEach) {
		return fmt.Errorf("datasets: %w: %d objects of %s", ErrTooLarge, n, s.name)
	}
	need := n * (itemBytes + g.BytesEach)
	left, known := available()
	if known && need > left {
		debug.FreeOSMemory() // Garbage must not count as used.
		left, known = available()
	}
	if known && need > left {
		return fmt.Errorf("datasets: %w: %d objects of %s need %d MiB of memory, %d MiB are available, enough for %d",
			ErrTooLarge, n, s.name, need>>20, left>>20, left/(itemBytes+g.BytesEach))
	}
	return nil
}

// Collect reads a whole source into memory: 40 bytes per item. On an error it
// returns the items before the error as well. If they do not fit into the
// available memory the error wraps ErrTooLarge.
func Collect(s *Source) ([]rstar.Item, error) {
	var g Gather
	err := g.Read(s)
	return g.items, err
}

// Read adds all items of s. Those before an error are kept.
func (g *Gather) Read(s *Source) error {
	if err := g.Expect(s); err != nil {
		return err
	}
	var failed error
	err := s.Items(func(it rstar.Item) bool {
		failed = g.Add(it, s)
		return failed == nil
	})
	if failed != nil {
		return failed
	}
	return err
}
