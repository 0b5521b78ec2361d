// Package rhkv runs an experiment of RHKV (Future Generation Computer Systems 2019) in one
// process: G-Cuckoo beside conventional cuckoo hashing, which hashes all items again where its walk
// does not end, by the share of inserts among reads of what was inserted lately. `catfish bench
// rhkv` prints it. What an insert moves is counted, and equal in each run; times are measured.
package rhkv

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/bench/stats"
	"github.com/catfish-index/catfish/internal/cuckoo"
	"github.com/catfish-index/catfish/internal/mapped"
	"github.com/catfish-index/catfish/internal/ycsb"
)

// Config says what Run measures. Its zero values stand for the defaults.
type Config struct {
	Log2   int     // of the buckets of each table; 16
	From   float64 // the load factor at the first operation; 0.4
	To     float64 // at the last one; 0.49
	Dist   ycsb.Dist
	Seed   uint64
	Commit string // of the program, for the rows
	// Repeat is the number of rounds, of whose times rows have the medians; 1.
	Repeat int
}

// Shares of inserts that the paper has, in %.
var Shares = []int{20, 15, 10, 5}

// Row is a table under one share of inserts.
type Row struct {
	Inserts  int     `json:"inserts_percent"`
	Table    string  `json:"table"` // g-cuckoo or conventional
	Dist     string  `json:"dist"`
	From     float64 `json:"from_load"`
	To       float64 `json:"to_load"`
	Ops      int     `json:"ops"`
	Kicks    float64 `json:"kicks"`    // of an insert, those of walks that failed included
	Rehashes uint64  `json:"rehashes"` // of the whole table
	Moved    float64 `json:"rehashed"` // items that were hashed again, of an insert
	Stash    uint64  `json:"stashed"`  // items for which the tables had no room
	NsPerOp  float64 `json:"ns_per_op"`
	Commit   string  `json:"commit"`
	// Runs are the times of the single rounds.
	Runs []float64 `json:"runs_ns_per_op"`
}

// target is a table under test.
type target interface {
	get(hash uint64) bool
	put(hash, ref uint64) error
	fill(r *Row)
}

type gCuckoo struct {
	cuckoo.Index
	buf [16]uint64
}

func (g *gCuckoo) get(hash uint64) bool       { return len(g.Lookup(g.buf[:0], hash)) > 0 }
func (g *gCuckoo) put(hash, ref uint64) error { return g.Insert(hash, ref) }
func (g *gCuckoo) fill(r *Row) {
	s := g.Stats()
	r.Kicks, r.Stash = float64(s.Kicks), s.Stashed
}

func (t *conventional) get(hash uint64) bool { return t.find(hash) != 0 }
func (t *conventional) put(hash, ref uint64) error {
	t.insert(hash, ref)
	return nil
}
func (t *conventional) fill(r *Row) {
	r.Kicks, r.Rehashes, r.Moved = float64(t.kicks), t.rehashes, float64(t.moved)
}

// Run measures all rows, and calls done with each. Errors of the Config wrap harness.ErrConfig.
func Run(ctx context.Context, c Config, done func(Row)) error {
	harness.Default(&c.Log2, 16)
	harness.Default(&c.From, 0.4)
	harness.Default(&c.To, 0.49)
	harness.Default(&c.Repeat, 1)
	if err := harness.CheckRange("repeat", c.Repeat, 1, harness.MaxRepeat); err != nil {
		return err
	}
	if err := harness.CheckRange("log2", c.Log2, 8, 24); err != nil {
		return err
	}
	if !(c.From > 0 && c.From < c.To && c.To <= 0.495) { // Beyond, conventional hashing hardly ever ends.
		return fmt.Errorf("%w: loads from %v to %v, want rising ones, above 0 and to 0.495", harness.ErrConfig, c.From, c.To)
	}
	rows := make([]Row, len(tables)*len(Shares))
	for _, i := range harness.Rounds(c.Repeat, len(rows)) {
		name, share := tables[i%len(tables)], Shares[i/len(tables)]
		r, err := one(ctx, c, name, share)
		if err != nil {
			return fmt.Errorf("rhkv: %s, %d %% inserts: %w", name, share, err)
		}
		r.Runs = rows[i].Runs
		r.Runs = append(r.Runs, r.NsPerOp)
		if rows[i] = *r; len(r.Runs) == c.Repeat {
			r.NsPerOp = stats.Median(r.Runs)
			done(*r)
		}
	}
	return nil
}

// tables are the rows of one share of inserts.
var tables = []string{"g-cuckoo", "conventional"}

func one(ctx context.Context, c Config, name string, share int) (_ *Row, err error) {
	places := float64(int(2) << c.Log2)
	first, last := uint64(c.From*places), uint64(c.To*places)
	w := ycsb.Config{
		Mix: ycsb.Mix{ycsb.Read: 100 - share, ycsb.Insert: share}, Dist: c.Dist, Theta: ycsb.Theta,
		Keys: first, ValueBytes: 1, Seed: c.Seed,
	}
	ops, err := w.Ops(0)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", harness.ErrConfig, err)
	}
	var t target = newConventional(uint(c.Log2), c.Seed)
	if name == "g-cuckoo" {
		// So large that it cannot grow.
		mem, err := mapped.Map(int64(3<<c.Log2)*cuckoo.LineBytes + 1<<16)
		if err != nil {
			return nil, err
		}
		defer func() { _ = mapped.Unmap(mem) }()
		index, err := cuckoo.New(cuckoo.GCuckoo, mem, cuckoo.Options{Items: 1, Buckets: 1 << c.Log2, Seed: c.Seed})
		if err != nil {
			return nil, err
		}
		t = &gCuckoo{Index: index}
	}
	for i := range first {
		if err := stopped(ctx, i); err != nil {
			return nil, err
		}
		op := w.Load(i)
		if err := t.put(cuckoo.Hash(c.Seed, op.Key[:]), i+1); err != nil {
			return nil, err
		}
	}
	var before Row
	t.fill(&before)
	r := &Row{Inserts: share, Table: name, Dist: c.Dist.String(), From: c.From, To: c.To, Commit: c.Commit}
	began := time.Now()
	n := first
	for n < last {
		if err := stopped(ctx, uint64(r.Ops)); err != nil {
			return nil, err
		}
		op := ops.Next()
		h := cuckoo.Hash(c.Seed, op.Key[:])
		r.Ops++
		if op.Kind == ycsb.Read {
			if !t.get(h) {
				return nil, fmt.Errorf("key %q is not found", op.Key[:])
			}
			continue
		}
		n++
		if err := t.put(h, n); err != nil {
			return nil, err
		}
	}
	r.NsPerOp = float64(time.Since(began)) / float64(r.Ops)
	t.fill(r)
	inserts := float64(last - first)
	r.Kicks = (r.Kicks - before.Kicks) / inserts
	r.Moved = (r.Moved - before.Moved) / inserts
	r.Rehashes -= before.Rehashes
	r.Stash -= before.Stash
	return r, nil
}

// stopped looks at ctx every few thousand operations: large tables fill for minutes.
func stopped(ctx context.Context, op uint64) error {
	if op%4096 == 0 && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// Write writes the table in Markdown. Its last columns are measured, the others are counted. The last is G-Cuckoo's
// time by that of the other table: within rounds, with its standard error, if there were two or more.
func Write(w io.Writer, rows []Row) error {
	var b strings.Builder
	b.WriteString("| inserts | table | kicks of an insert | rehashes | items rehashed of an insert | stashed | ns of an operation, measured | by conventional |\n|---|---|---|---|---|---|---|---|\n")
	for i, r := range rows {
		by := ""
		if i+1 < len(rows) && r.Inserts == rows[i+1].Inserts {
			by = fmt.Sprintf("%.3f", stats.Ratio(r.NsPerOp, rows[i+1].NsPerOp))
			if times, stderr, ok := harness.Within(r.Runs, rows[i+1].Runs); ok {
				by = fmt.Sprintf("%.3f +- %.3f", times, stderr)
			}
		}
		fmt.Fprintf(&b, "| %d %% | %s | %.3f | %d | %.1f | %d | %.0f | %s |\n", r.Inserts, r.Table, r.Kicks, r.Rehashes, r.Moved, r.Stash, r.NsPerOp, by)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Elision says whether this processor elides locks (HLE), as far as the system reports.
func Elision() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "not known: " + err.Error()
	}
	return elisionOf(string(text))
}

func elisionOf(cpuinfo string) string {
	name, flags := "of unknown name", ""
	for line := range strings.Lines(cpuinfo) {
		key, value, _ := strings.Cut(line, ":")
		switch strings.TrimSpace(key) {
		case "model name":
			name = strings.TrimSpace(value)
		case "flags":
			flags = value
		}
	}
	if slices.Contains(strings.Fields(flags), "hle") {
		return fmt.Sprintf("the processor (%s) has it; a lock with its prefixes is not built", name)
	}
	return fmt.Sprintf("impossible: the processor (%s) has no flag hle, and ignores the prefixes", name)
}
