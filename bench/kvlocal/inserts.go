package kvlocal

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/catfish-index/catfish/bench/stats"
	"github.com/catfish-index/catfish/cuckoo"
)

// InsertsConfig makes many insertions into tables that do not grow, with
// deletions between them.
type InsertsConfig struct {
	// Inserts is their total number, divided evenly among the rows of kind
	// GCuckoo. Each row of kind Conventional has a tenth of such a row's.
	Inserts int
	Buckets int // of each of a table's two
	Seed    uint64
}

// Validate checks a configuration.
func (c *InsertsConfig) Validate() error {
	if c.Inserts < 1 {
		return fmt.Errorf("%w: %d inserts, want 1 or more", ErrConfig, c.Inserts)
	}
	return validBuckets(c.Buckets)
}

// InsertsRow is the result of the insertions into tables of one layout, which
// were filled to a load and kept there.
type InsertsRow struct {
	Kind    string  `json:"kind"`
	Items   int     `json:"items_a_bucket"`
	Load    float64 `json:"load"`
	Inserts uint64  `json:"inserts"` // tried, of which Refused found no room
	Refused uint64  `json:"refused"`
	Tables  int     `json:"tables"`
	// Loops are random walks that were given up after 500 kicks, the usual
	// sign of an endless one. Searches of G-Cuckoo always end: BoundedOut saw
	// 512 full buckets, before any kick.
	Loops      uint64  `json:"loops"`
	BoundedOut uint64  `json:"bounded_out"`
	Kicks      uint64  `json:"kicks"`
	Longest    int     `json:"longest_kick"` // kicks of one insertion
	Stashed    uint64  `json:"stashed"`
	CaseA      uint64  `json:"case_a"`
	CaseB      uint64  `json:"case_b"`
	CaseC1     uint64  `json:"case_c1"`
	CaseC2     uint64  `json:"case_c2"`
	CaseC3     uint64  `json:"case_c3"`
	Disagreed  uint64  `json:"disagreed"`
	Rebuilt    uint64  `json:"rebuilt"`
	Ns         float64 `json:"ns"` // of an insertion and a deletion
}

// churn is how often the items of a table are replaced before the next table.
const churn = 8

// Inserts measures all layouts, and calls each with a row, and note from time to
// time.
func Inserts(ctx context.Context, c InsertsConfig, note func(string), each func(InsertsRow)) error {
	if err := c.Validate(); err != nil {
		return err
	}
	rows := 0
	for _, l := range layouts {
		if l.kind == cuckoo.GCuckoo {
			rows += len(l.loads)
		}
	}
	r := rand.New(rand.NewPCG(c.Seed, 2))
	for _, l := range layouts {
		want := uint64((c.Inserts + rows - 1) / rows)
		if l.kind == cuckoo.Conventional {
			want = (want + 9) / 10
		}
		for _, load := range l.loads {
			row := InsertsRow{Kind: l.kind.String(), Items: l.items, Load: load}
			begin, told := time.Now(), time.Now()
			for row.Inserts < want {
				if err := l.keep(ctx, c.Buckets, load, want-row.Inserts, r, &row); err != nil {
					return err
				}
				if now := time.Now(); now.Sub(told) > pace || row.Inserts == want {
					told = now
					note(fmt.Sprintf("%s with %d items a bucket at a load of %v: %d of %d inserts", row.Kind, row.Items, load, row.Inserts, want))
				}
			}
			row.Ns = stats.Ratio(float64(time.Since(begin)), float64(row.Inserts))
			each(row)
		}
	}
	return nil
}

// pace is the time between two notes.
const pace = 10 * time.Second

// keep fills one table to the load and replaces its items, by up to most
// insertions.
func (l *layout) keep(ctx context.Context, buckets int, load float64, most uint64, r *rand.Rand, row *InsertsRow) error {
	x, free, err := l.table(buckets, r.Uint64())
	if err != nil {
		return err
	}
	defer free()
	items := int(load * float64(x.Stats().Capacity))
	held := make([][2]uint64, 0, items)
	for n := range min(most, uint64(churn*items)) {
		if n%interval == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if len(held) == items {
			i := r.IntN(items)
			if err := x.Delete(held[i][0], held[i][1]); err != nil {
				return fmt.Errorf("bench: %v: %w", l.kind, err)
			}
			held[i] = held[items-1]
			held = held[:items-1]
		}
		item := [2]uint64{r.Uint64(), n + 1}
		row.Inserts++
		if err := x.Insert(item[0], item[1]); errors.Is(err, cuckoo.ErrFull) || errors.Is(err, cuckoo.ErrTooManyAlike) {
			row.Refused++
			continue
		} else if err != nil {
			return fmt.Errorf("bench: %v: %w", l.kind, err)
		}
		held = append(held, item)
	}
	row.add(x.Stats())
	return nil
}

func (row *InsertsRow) add(s cuckoo.Stats) {
	row.Tables++
	row.Loops += s.Loops
	row.BoundedOut += s.BoundedOut
	row.Kicks += s.Kicks
	row.Longest = max(row.Longest, s.LongestKick)
	row.Stashed += s.Stashed
	row.CaseA += s.CaseA
	row.CaseB += s.CaseB
	row.CaseC1 += s.CaseC1
	row.CaseC2 += s.CaseC2
	row.CaseC3 += s.CaseC3
	row.Disagreed += s.Disagreed
	row.Rebuilt += s.Rebuilt
}
