package rstar

// Stats describes a tree. Numbers are read in sequence while writers and readers run,
// so they may be inconsistent by changes made in between.
type Stats struct {
	Len    int `json:"len"`
	Height int `json:"height"`
	// Nodes and Fill are per level, leaves first. Fill is the mean share of
	// used entries, 0 to 1.
	Nodes []int     `json:"nodes"`
	Fill  []float64 `json:"fill"`

	NodeBytes     int     `json:"node_bytes"`
	Fanout        int     `json:"fanout"`          // maximum objects of a leaf
	InnerFanout   int     `json:"inner_fanout"`    // maximum children of an internal node, by the strategy
	SlabBytes     int64   `json:"slab_bytes"`      // capacity
	UsedBytes     int64   `json:"used_bytes"`      // chunks in use, the header included
	BytesPerEntry float64 `json:"bytes_per_entry"` // UsedBytes per object; 0 for an empty tree

	// Since the tree was made:
	Searches  uint64 `json:"searches"`   // of all kinds
	NodeReads uint64 `json:"node_reads"` // nodes that they read, restarts included
	Restarts  uint64 `json:"restarts"`   // searches begun again because of a move
	Retries   uint64 `json:"retries"`    // nodes read again because a writer changed them
	Moves     uint64 `json:"moves"`      // the move counter
}

// Stats returns the tree's statistics. It takes no lock.
func (t *Tree) Stats() Stats {
	s := Stats{
		Len:       t.Len(),
		Height:    int(t.height.Load()),
		NodeBytes: t.opts.NodeBytes,
		Fanout:    t.fan(0),

		InnerFanout: t.fan(1),

		SlabBytes: int64(t.chunks) * int64(t.opts.NodeBytes),
		Moves:     t.moves.Load(),
	}
	chunks, below := int64(1), int64(s.Len)
	for l := range s.Height {
		n := t.nodes[l].Load()
		s.Nodes = append(s.Nodes, int(n))
		fill := 0.0
		if n > 0 {
			fill = float64(below) / float64(n*int64(t.fan(l)))
		}
		s.Fill = append(s.Fill, fill)
		chunks, below = chunks+n, n
	}
	s.UsedBytes = chunks * int64(t.opts.NodeBytes)
	if s.Len > 0 {
		s.BytesPerEntry = float64(s.UsedBytes) / float64(s.Len)
	}
	for i := range t.stripes {
		st := &t.stripes[i]
		s.Searches += st.gate.Load() / gateSearch
		s.NodeReads += st.reads.Load()
		s.Restarts += st.restarts.Load()
		s.Retries += st.retries.Load()
	}
	return s
}
