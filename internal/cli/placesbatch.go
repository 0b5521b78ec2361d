package cli

import (
	"errors"
	"fmt"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/places"
)

// recordAt is a record of a file, and its beginning.
type recordAt struct {
	ID     string `json:"id"`
	File   string `json:"file"`
	Line   int64  `json:"line,omitempty"` // 0: the format has no lines
	Offset int64  `json:"offset"`
	row    int64  // among all records of a load
}

func (r *recordAt) String() string {
	if r.Line > 0 {
		return fmt.Sprintf("id %q at %s: line %d", r.ID, r.File, r.Line)
	}
	return fmt.Sprintf("id %q at %s: offset %d", r.ID, r.File, r.Offset)
}

// placesBatch is the batch that one call stores.
type placesBatch struct {
	places []catfish.Feature
	at     []recordAt
	ids    map[string]struct{}
	bytes  int
	ended  chan struct{}
}

func newPlacesBatch() *placesBatch {
	return &placesBatch{ids: make(map[string]struct{}, placesBatchMost), ended: make(chan struct{})}
}

func (b *placesBatch) add(p places.Place, at recordAt) {
	b.places = append(b.places, catfish.Feature{ID: p.ID, Geometry: p.Geometry, Altitudes: p.Altitudes, Properties: p.Properties})
	b.at = append(b.at, at)
	b.ids[p.ID] = struct{}{}
}

// await waits until the batch has ended, if it has a feature of this id.
func (b *placesBatch) await(id string) {
	if _, ok := b.ids[id]; ok {
		<-b.ended
	}
}

func (b *placesBatch) over() bool {
	select {
	case <-b.ended:
		return true
	default:
		return false
	}
}

// wasThere notes a record whose id existed before. Only the first one, in the order of the
// files, is reported.
func (l *featureLoader) wasThere(at *recordAt) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.first == nil || at.row < l.first.row {
		l.first = at
	}
}

// errNotUnique is the error of --unique.
var errNotUnique = errors.New("an id is not unique")

// repeated returns an error if ids must be unique, and a record had an existing id.
func (l *featureLoader) repeated() error {
	if !l.unique {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.first == nil {
		return nil
	}
	return fmt.Errorf("%w: %v is that of an earlier record, or of a feature in the collection", errNotUnique, l.first)
}
