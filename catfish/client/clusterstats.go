package client

import (
	"context"
	"slices"
	"sync"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/rstar"
)

// stats are those of each group's primary, and what sums say of all.
func (k *cluster) stats(ctx context.Context) (st model.ServerStats, err error) {
	err = k.byMap(ctx, func(v *view) error {
		st = model.ServerStats{Collections: map[string]rstar.Stats{}, Groups: map[string]*model.ServerStats{}}
		var mu sync.Mutex
		return k.askAll(ctx, v, v.every(), true, func(ctx context.Context, n int, c *connection) error {
			of, err := (&Client{conn: c}).Stats(ctx)
			if err == nil {
				mu.Lock()
				defer mu.Unlock()
				st.Groups[v.names[n]] = &of
			}
			return err
		})
	})
	if err != nil {
		return model.ServerStats{}, err
	}
	for _, of := range st.Groups {
		addStats(&st, of)
	}
	return st, nil
}

// addStats adds what sums make sense of. The rest is in Groups alone.
func addStats(to, of *model.ServerStats) {
	if of.Map != nil && (to.Map == nil || of.Map.Version > to.Map.Version) {
		to.Map = of.Map
	}
	to.Version = max(to.Version, of.Version)
	to.CPUSeconds, to.Cores, to.TCPRequests = to.CPUSeconds+of.CPUSeconds, to.Cores+of.Cores, to.TCPRequests+of.TCPRequests
	m := &to.Memory
	m.Resident, m.Limit, m.Live = m.Resident+of.Memory.Resident, m.Limit+of.Memory.Limit, m.Live+of.Memory.Live
	m.Goroutines, m.Full = m.Goroutines+of.Memory.Goroutines, m.Full || of.Memory.Full
	for name, t := range of.Collections {
		to.Collections[name] = addTree(to.Collections[name], t)
	}
	for name, r := range of.Records {
		if to.Records == nil {
			to.Records = map[string]model.RecordsStats{}
		}
		to.Records[name] = addRecords(to.Records[name], r)
	}
	for name, f := range of.Features {
		if to.Features == nil {
			to.Features = map[string]model.FeaturesStats{}
		}
		sum := to.Features[name]
		to.Features[name] = model.FeaturesStats{CollectionOptions: f.CollectionOptions, Tree: addTree(sum.Tree, f.Tree), Records: addRecords(sum.Records, f.Records)}
	}
	to.Kept, to.Loading = union(to.Kept, of.Kept), union(to.Loading, of.Loading)
}

// addTree adds two trees. Height is that of the higher one, and Fill is left out.
func addTree(a, b rstar.Stats) rstar.Stats {
	nodes := slices.Clone(b.Nodes)
	for level, n := range a.Nodes {
		if level == len(nodes) {
			nodes = append(nodes, 0)
		}
		nodes[level] += n
	}
	b.Nodes, b.Fill = nodes, nil
	b.Len, b.Height = a.Len+b.Len, max(a.Height, b.Height)
	b.SlabBytes, b.UsedBytes = a.SlabBytes+b.SlabBytes, a.UsedBytes+b.UsedBytes
	if b.BytesPerEntry = 0; b.Len > 0 {
		b.BytesPerEntry = float64(b.UsedBytes) / float64(b.Len)
	}
	b.Searches, b.NodeReads, b.Moves = a.Searches+b.Searches, a.NodeReads+b.NodeReads, a.Moves+b.Moves
	b.Restarts, b.Retries = a.Restarts+b.Restarts, a.Retries+b.Retries
	return b
}

// addRecords adds two maps. The revision is left out: two groups' cannot be compared.
func addRecords(a, b model.RecordsStats) model.RecordsStats {
	a.Add(b.MapStats)
	a.Revision, a.Load = 0, max(a.Load, b.Load)
	a.UsedBytes, a.SlabBytes = a.UsedBytes+b.UsedBytes, a.SlabBytes+b.SlabBytes
	return a
}

func union(a, b []string) []string {
	if len(b) == 0 {
		return a
	}
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// check checks the part of each group, all at the same time. The error is that of one group,
// which it names.
func (k *cluster) check(ctx context.Context, collection string) error {
	return k.byMap(ctx, func(v *view) error {
		return k.askAll(ctx, v, v.every(), false, func(ctx context.Context, _ int, c *connection) error {
			return (&Client{conn: c, collection: collection}).Check(ctx)
		})
	})
}
