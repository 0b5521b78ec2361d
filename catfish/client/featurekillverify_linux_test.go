package client

import (
	"fmt"
	"slices"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/store/disk"
	"github.com/catfish-index/catfish/internal/store/query"
)

// verify compares what all paths read with the known operations, and begins a new life.
func (k *killing) verify() {
	k.t.Helper()
	ctx := k.t.Context()
	var is map[string]killOp
	for _, c := range k.clients {
		got := map[string]killOp{}
		for what, q := range map[string]model.FeatureQuery{"by area": {Area: query.Box(-180, -90, 180, 90)}, "by id": {Order: query.ByID}} {
			found := map[string]killOp{}
			for f, err := range c.Search(ctx, q) {
				if err != nil {
					k.t.Fatalf("%s, %s: %v", c.name, what, err)
				}
				op, err := killOpOf(&f)
				if _, again := found[f.ID]; err != nil || again {
					k.t.Fatalf("%s, %s: %q: %v, again: %t", c.name, what, f.ID, err, again)
				}
				found[f.ID] = op
			}
			if is == nil {
				is = found
			}
			k.same(c.name+", "+what, found, is)
		}
		for _, w := range k.writers {
			fs, err := c.GetMany(ctx, w.ids)
			if err != nil {
				k.t.Fatalf("%s: get: %v", c.name, err)
			}
			for i := range fs {
				if fs[i].ID == "" {
					continue
				}
				op, err := killOpOf(&fs[i])
				if err != nil {
					k.t.Fatalf("%s: %v", c.name, err)
				}
				got[fs[i].ID] = op
			}
		}
		k.same(c.name+", get", got, is)
	}
	k.explain(is)
	k.begin(is)
}

func (k *killing) same(what string, got, want map[string]killOp) {
	k.t.Helper()
	for id, op := range want {
		if got[id] != op {
			k.t.Errorf("%s: %q is %+v, others see %+v", what, id, got[id], op)
		}
	}
	if len(got) != len(want) {
		k.t.Errorf("%s: %d features, others see %d", what, len(got), len(want))
	}
}

// explain finds the revision up to which everything exists.
func (k *killing) explain(is map[string]killOp) {
	k.t.Helper()
	ends := []uint64{k.first}
	for _, w := range k.writers {
		for id, i := range w.know {
			for _, op := range i.ops[1:] {
				if op.revision <= k.first {
					k.t.Errorf("revision %d, of write %d to %q, was given before", op.revision, op.n, id)
				}
				k.give(op.revision, id, op)
				ends = append(ends, op.revision)
			}
		}
	}
	slices.Sort(ends)
	last := ends[len(ends)-1]
	why := k.upTo(last, is)
	if why == nil || k.sync == disk.SyncAlways {
		if why != nil {
			k.t.Error(why)
		}
		return
	}
	for i, r := range slices.Backward(ends) {
		if k.upTo(r, is) == nil {
			k.lost += len(ends) - 1 - i
			return
		}
	}
	k.t.Errorf("no revision explains what is left; up to the last, %d: %v", last, why)
}

// give notes which write got a revision.
func (k *killing) give(revision uint64, id string, op killOp) {
	to := fmt.Sprintf("write %d to %q", op.n, id)
	if was, ok := k.given[revision]; ok && was != to {
		k.t.Errorf("revision %d was given to %s and %s", revision, was, to)
	}
	k.given[revision] = to
}

// upTo is nil if all operations that were acknowledged up to a revision are kept, and
// no later one.
func (k *killing) upTo(r uint64, is map[string]killOp) error {
	for _, w := range k.writers {
		for id, i := range w.know {
			want, n := i.ops[0], 1
			for ; n < len(i.ops) && i.ops[n].revision <= r; n++ {
				want = i.ops[n]
			}
			got := is[id]
			if got == want || want.n == 0 && got.n == 0 {
				// A reader saw it, so it was durable.
				if m := i.maybe; m != nil && m.n != 0 && k.observed[id][m.n] && k.sync == disk.SyncAlways {
					return fmt.Errorf("%q is %+v, and readers saw %+v before", id, got, *m)
				}
				continue
			}
			if m := i.maybe; n == len(i.ops) && m != nil && got.n == m.n && got.g == m.g && (m.n == 0 || got.revision > want.revision) {
				continue
			}
			return fmt.Errorf("%q is %+v, want %+v, or %+v", id, got, want, i.maybe)
		}
	}
	return nil
}

// begin makes the present state the start of the next life.
func (k *killing) begin(is map[string]killOp) {
	if k.sync != disk.SyncAlways {
		// Revisions of lost writes are used again.
		k.given, k.first = map[uint64]string{}, 0
	}
	for id, op := range is {
		k.give(op.revision, id, op)
	}
	for r := range k.given {
		k.first = max(k.first, r)
	}
	clear(k.observed)
	for _, w := range k.writers {
		for id, i := range w.know {
			*i = killID{ops: []killOp{is[id]}}
		}
	}
}
