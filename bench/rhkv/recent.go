package rhkv

import (
	"fmt"
	"io"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/internal/cuckoo"
	"github.com/catfish-index/catfish/internal/ycsb"
)

// Recent says what CountRecent counts: what a small cache of recent items in front of a server's index saves, as
// RHKV has one. The cache is direct-mapped, hash and reference in 16 bytes, four to a line of 64. A Get reads its
// line, and, if the hash is another, the lines of both buckets, and puts the reference into the cache. The record
// is read in any case. Nothing is measured, so machine and load do not matter.
type Recent struct {
	Keys    uint64
	Theta   float64 // of the keys of Gets, by Zipf's law
	Entries []int   // of caches, each a power of 2
	Gets    int     // as many go before them, which are not counted
	Seed    uint64
}

// RecentRow is a size of cache.
type RecentRow struct {
	Keys    uint64  `json:"keys"`
	Theta   float64 `json:"theta"`
	Entries int     `json:"entries"` // 0: no cache
	Saved   float64 `json:"lookups_saved"`
	Lines   float64 `json:"lines_touched"` // by a Get, without those of the record
	// Missed are the lines, those of the record included, that a processor's cache of 1 MiB did not have.
	Missed float64 `json:"lines_missed"`
}

// processorCache is a cache of lines: 16 ways, of which the least recently used one makes room.
type processorCache [modelSets][modelWays]uint64

const (
	modelWays = 16
	modelSets = 1 << 20 / 64 / modelWays
)

// touch reads a line, and reports whether it was missing. Lines are numbered from 1.
func (p *processorCache) touch(line uint64) bool {
	set := &p[(line*0x9E3779B97F4A7C15)>>32%modelSets]
	at := 0
	for at < modelWays-1 && set[at] != line {
		at++
	}
	missed := set[at] != line
	copy(set[1:at+1], set[:at])
	set[0] = line
	return missed
}

// CountRecent counts all sizes of cache, none first. Errors wrap harness.ErrConfig.
func CountRecent(c Recent) (rows []RecentRow, err error) {
	if err := harness.CheckRange("gets", c.Gets, 1, 1<<30); err != nil {
		return nil, err
	}
	for _, entries := range append([]int{0}, c.Entries...) {
		if entries != 0 && (entries < 1 || entries > 1<<30 || entries&(entries-1) != 0) {
			return nil, fmt.Errorf("%w: a cache of %d entries, want a power of 2", harness.ErrConfig, entries)
		}
		r, err := c.count(entries)
		if err != nil {
			return nil, err
		}
		rows = append(rows, *r)
	}
	return rows, nil
}

func (c Recent) count(entries int) (*RecentRow, error) {
	w := ycsb.Config{Mix: ycsb.MixC, Dist: ycsb.Zipfian, Theta: c.Theta, Keys: c.Keys, ValueBytes: 1, Seed: c.Seed}
	ops, err := w.Ops(0)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", harness.ErrConfig, err)
	}
	// The index's tables have room for the keys at 0.96 full. A bucket is a line.
	h := cuckoo.Header{Items: cuckoo.MaxItems}
	for float64(uint64(2*cuckoo.MaxItems)<<h.Log2)*0.96 < float64(c.Keys) {
		h.Log2++
	}
	const index, cache, records = 1, 1 << 40, 1 << 41 // where lines are numbered from
	recent, lines := make([]uint64, entries), new(processorCache)
	var saved, touched, missed int
	for i := range 2 * c.Gets {
		op := ops.Next()
		hash := cuckoo.Hash(c.Seed, op.Key[:])
		var read [3]uint64
		all, hit := read[:0], false
		if entries > 0 {
			at := hash >> 20 & uint64(entries-1)
			all, hit = append(all, cache+at/4), recent[at] == hash
			recent[at] = hash
		}
		if !hit {
			all = append(all, index+h.Bucket(hash, 0)/cuckoo.LineBytes, index+h.Bucket(hash, 1)/cuckoo.LineBytes)
		}
		counted := i >= c.Gets
		for _, line := range append(all, records+op.Number) {
			if lines.touch(line) && counted {
				missed++
			}
		}
		if counted {
			touched += len(all)
			if hit {
				saved++
			}
		}
	}
	n := float64(c.Gets)
	return &RecentRow{c.Keys, c.Theta, entries, float64(saved) / n, float64(touched) / n, float64(missed) / n}, nil
}

// WriteRecent writes the table in Markdown.
func WriteRecent(w io.Writer, rows []RecentRow) error {
	text := "| keys | theta | entries | lookups saved | lines of a Get | lines missed |\n|---|---|---|---|---|---|\n"
	for _, r := range rows {
		text += fmt.Sprintf("| %d | %v | %d | %.1f %% | %.2f | %.2f |\n", r.Keys, r.Theta, r.Entries, 100*r.Saved, r.Lines, r.Missed)
	}
	_, err := io.WriteString(w, text)
	return err
}
