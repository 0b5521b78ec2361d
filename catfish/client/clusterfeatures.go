package client

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/fault"
	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store/query"
	"github.com/catfish-index/catfish/internal/wire"
)

// clusterFeatures is a collection of features that several groups have.
type clusterFeatures struct {
	k    *cluster
	name string
}

func (r *clusterFeatures) Collection() string { return r.name }

// at is the part of the collection that a group has.
func (r *clusterFeatures) at(c *connection) *remoteFeatures {
	return &remoteFeatures{&Client{conn: c, collection: r.name}}
}

// Put sends each group its features, at the same time. Each group gets its own in their order.
// PartlyDone counts the features that have outcomes, whichever they are.
func (r *clusterFeatures) Put(ctx context.Context, fs []model.Feature, cond kv.Condition, results []model.PutResult) error {
	fs = slices.Clone(fs)
	left := make([]int, len(fs)) // without an outcome
	for i := range fs {
		if left[i] = i; fs[i].ID == "" { // It says which group has it.
			fs[i].ID = query.NewID(time.Duration(time.Now().UnixNano()))
		}
	}
	done := 0
	var failed error
	err := r.k.byMap(ctx, func(v *view) error {
		parts := v.divide(len(left), func(n int) []byte { return []byte(fs[left[n]].ID) })
		var mu sync.Mutex
		var under sync.WaitGroup
		var again []int
		for n, g := range parts.groups {
			under.Go(func() {
				settled, moved, err := r.putPart(ctx, v, g, fs, parts.pick(n, left), cond, results)
				mu.Lock()
				defer mu.Unlock()
				done, again = done+settled, append(again, moved...)
				failed = lessSafe(failed, err)
			})
		}
		under.Wait()
		slices.Sort(again)
		if left = again; len(left) == 0 {
			return nil
		}
		return errOldMap
	})
	for _, i := range left {
		results[i].Err = err
	}
	if failed == nil {
		failed = err
	}
	if failed != nil && done > 0 {
		return &wire.PartlyDone{Done: done, Err: failed}
	}
	return failed
}

// putPart puts the features with the numbers at, of one group. It returns how many have outcomes,
// and which ones are to be sent again by the next map.
func (r *clusterFeatures) putPart(ctx context.Context, v *view, group int, fs []model.Feature, at []int, cond kv.Condition, results []model.PutResult) (settled int, again []int, err error) {
	part, of := make([]model.Feature, len(at)), make([]model.PutResult, len(at))
	for n, i := range at {
		part[n] = fs[i]
	}
	c, err := r.k.conn(ctx, v, group)
	if err != nil {
		for _, i := range at {
			results[i].Err = err
		}
		return 0, nil, err
	}
	settled = len(at)
	if err = r.at(c).Put(ctx, part, cond, of); err != nil {
		settled = 0
		if p := (*wire.PartlyDone)(nil); errors.As(err, &p) {
			settled, err = p.Done, p.Err
		}
	}
	for n, i := range at {
		if moved(of[n].Err) {
			if again = append(again, i); n < settled {
				settled--
			}
			continue
		}
		results[i] = of[n]
		results[i].ID = fs[i].ID
	}
	switch {
	case err == nil, moved(err):
		return settled, again, nil
	case errors.Is(err, fault.ErrFeature) && len(fs) > 1: // Its result says so.
		return settled + 1, again, nil
	}
	return settled, again, ofGroup(v.names[group], err)
}

// Patch and Erase go to the group of the id.
func (r *clusterFeatures) Patch(ctx context.Context, id string, patch []byte, cond kv.Condition) (revision uint64, err error) {
	err = r.k.ofID(ctx, []byte(id), func(c *connection) (err error) {
		revision, err = r.at(c).Patch(ctx, id, patch, cond)
		return err
	})
	return revision, err
}

func (r *clusterFeatures) Erase(ctx context.Context, id string, cond kv.Condition) (revision uint64, err error) {
	err = r.k.ofID(ctx, []byte(id), func(c *connection) (err error) {
		revision, err = r.at(c).Erase(ctx, id, cond)
		return err
	})
	return revision, err
}

// EraseWhere is made of all groups, and again of all if the map has changed: what is deleted
// already is not found again.
func (r *clusterFeatures) EraseWhere(ctx context.Context, q query.Query) (int, error) {
	var mu sync.Mutex
	total := 0
	err := r.k.byMap(ctx, func(v *view) error {
		return r.k.askAll(ctx, v, v.having(), false, func(ctx context.Context, _ int, c *connection) error {
			n, err := r.at(c).EraseWhere(ctx, q)
			mu.Lock()
			total += n
			mu.Unlock()
			return err
		})
	})
	if err != nil && total > 0 {
		err = &wire.PartlyDone{Done: total, Err: err}
	}
	return total, err
}

func (r *clusterFeatures) Get(ctx context.Context, ids []string, fields *feature.Selection, yield func(int, *query.Found) (bool, error)) error {
	var found []*query.Found
	err := r.k.byMap(ctx, func(v *view) error {
		found = make([]*query.Found, len(ids))
		parts := v.divide(len(ids), func(n int) []byte { return []byte(ids[n]) })
		return r.k.askAll(ctx, v, parts.groups, true, func(ctx context.Context, n int, c *connection) error {
			at := parts.at[n]
			of := make([]string, len(at))
			for j, i := range at {
				of[j] = ids[i]
			}
			return r.at(c).Get(ctx, of, fields, func(j int, f *query.Found) (bool, error) {
				found[at[j]] = f
				return true, nil
			})
		})
	})
	if err != nil {
		return err
	}
	for i, f := range found {
		if more, err := yield(i, f); !more || err != nil {
			return err
		}
	}
	return nil
}

func (r *clusterFeatures) Count(ctx context.Context, q query.Query) (int, error) {
	counts, err := fromAll(ctx, r.k, func(ctx context.Context, c *connection) (int, error) { return r.at(c).Count(ctx, q) })
	total := 0
	for _, n := range counts {
		total += n
	}
	return total, err
}

// fromAll asks all groups that have any ids, by one map.
func fromAll[T any](ctx context.Context, k *cluster, ask func(ctx context.Context, c *connection) (T, error)) (answers []T, err error) {
	err = k.byMap(ctx, func(v *view) error {
		groups := v.having()
		answers = make([]T, len(groups))
		return k.askAll(ctx, v, groups, true, func(ctx context.Context, n int, c *connection) (err error) {
			answers[n], err = ask(ctx, c)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return answers, nil
}

// byGroup is things with ids, divided among groups.
type byGroup struct {
	groups []int
	at     [][]int // the numbers of the things of each group
}

func (v *view) divide(n int, id func(int) []byte) (p byGroup) {
	return divide(n, len(v.names), func(i int) int { return v.of(id(i)) })
}

// divide divides n things by the group of each.
func divide(n, groups int, groupOf func(int) int) (p byGroup) {
	of := make([]int, groups) // 1 more than the number of the part
	for i := range n {
		g := groupOf(i)
		if of[g] == 0 {
			p.groups, p.at = append(p.groups, g), append(p.at, nil)
			of[g] = len(p.groups)
		}
		p.at[of[g]-1] = append(p.at[of[g]-1], i)
	}
	return p
}

// pick returns which of some numbers are in part n.
func (p *byGroup) pick(n int, of []int) []int {
	l := make([]int, len(p.at[n]))
	for j, i := range p.at[n] {
		l[j] = of[i]
	}
	return l
}
