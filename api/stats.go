package api

import (
	"context"
	"slices"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/internal/names"
)

// Stats describes one collection and lists the names of all.
func (s *service) Stats(ctx context.Context, req *catfishv1.StatsRequest) (
	*catfishv1.StatsResponse, error,
) {
	c, name, err := s.collection(ctx, req.GetCollection())
	if err != nil {
		return nil, err
	}
	all := s.backend.Collections()
	slices.Sort(all)
	for i, name := range all {
		all[i] = names.Text(name)
	}
	st := c.Stats()
	res := &catfishv1.StatsResponse{
		Collection:  name,
		Objects:     uint64(st.Len),
		Collections: all,
		NodeBytes:   uint64(st.NodeBytes),
		Fanout:      uint32(st.Fanout),
		InnerFanout: uint32(st.InnerFanout),
		SlabBytes:   uint64(st.SlabBytes),
		UsedBytes:   uint64(st.UsedBytes),
		Searches:    st.Searches,
		NodeReads:   st.NodeReads,
		Restarts:    st.Restarts,
		Retries:     st.Retries,
		Moves:       st.Moves,
	}
	for l, n := range st.Nodes {
		res.Levels = append(res.Levels, &catfishv1.Level{
			Nodes: uint64(n), Fill: st.Fill[l],
		})
	}
	return res, nil
}
