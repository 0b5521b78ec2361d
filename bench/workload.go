package bench

import (
	"fmt"
	"math/rand/v2"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/datasets"
	"github.com/catfish-index/catfish/rstar"
)

const (
	// totalQueries is how many queries the goroutines of a process draw
	// together, and minQueries the least for each of them: enough that walking
	// them in circles does not turn the run into a test of the caches, few
	// enough to take 2 MiB (32 bytes a query) and to stream past the
	// processor's prefetcher.
	totalQueries = 1 << 16
	minQueries   = 1 << 10
	// insertRects is how many rectangles each goroutine draws for its
	// inserts and updates; it walks them in circles too, ids stay unique.
	insertRects = 1 << 10
	// stockObjects is how many objects a goroutine inserts before a run that
	// deletes or updates: a cushion against series of such operations.
	stockObjects = 64
	// nearestK is how many neighbours a nearest operation asks for: one
	// page of a "near me" list.
	nearestK = 10
	// verifyQueries are asked once, by all schemes alike, before the
	// warm-up of a mix that only reads.
	verifyQueries = 256
	// verifyStream is a stream of queries that no goroutine uses.
	verifyStream = 1 << 40
)

// plan is one goroutine's work: operations and their arguments, drawn ahead,
// each list walked in circles.
type plan struct {
	ops     []Op
	queries []rstar.Rect
	inserts []rstar.Rect
	// results[i] is how many objects queries[i] found, -1 before; used
	// when the mix only reads, so that the answer must stay the same.
	results []int32

	nextID uint64
	live   []rstar.Item // own objects, the oldest at position first
	first  int

	nOp, nQuery, nInsert int
}

// newPlans draws the plans of all goroutines of one process. Streams are
// numbered by process and goroutine, so they differ everywhere and are
// the same for every scheme.
func newPlans(job ClientJob) ([]*plan, error) {
	n := job.Clients * job.InFlight
	scale, err := datasets.ParseScale(job.Scale)
	if err != nil {
		return nil, err
	}
	file, err := fileQueries(job)
	if err != nil {
		return nil, err
	}
	plans := make([]*plan, n)
	for i := range plans {
		stream := uint64(job.Proc)<<20 | uint64(i)
		query, err := datasets.Queries(scale, job.Bounds, job.Seed, stream)
		if err != nil {
			return nil, err
		}
		p := &plan{
			ops: job.Mix.sequence(rand.New(rand.NewPCG(job.Seed, stream))),
			// The top bit keeps clear of the data set's ids.
			nextID: 1<<63 | stream<<32,
		}
		if file != nil {
			// Each begins elsewhere, spread over the file by processes
			// and goroutines alike.
			p.queries = file
			p.nQuery = int(mix64(stream) % uint64(len(file)))
		} else {
			p.queries = make([]rstar.Rect, max(minQueries, totalQueries/n))
			for j := range p.queries {
				p.queries[j] = query()
			}
		}
		switch {
		case job.Mix.ReadOnly():
			p.results = make([]int32, len(p.queries))
			for j := range p.results {
				p.results[j] = -1
			}
		default:
			// Stream 0 made the data itself.
			next, err := job.Inserts.Rects(job.Dataset, job.Scale, job.Bounds, job.Seed, stream+1)
			if err != nil {
				return nil, err
			}
			p.inserts = make([]rstar.Rect, insertRects)
			for j := range p.inserts {
				p.inserts[j] = next()
			}
			p.live = make([]rstar.Item, 0, 2*insertRects)
		}
		plans[i] = p
	}
	return plans, nil
}

// fileQueries reads the job's file of queries, nil if it has none. All
// goroutines share what is returned.
func fileQueries(job ClientJob) ([]rstar.Rect, error) {
	if job.Queries == "" {
		return nil, nil
	}
	src, err := datasets.Open(job.Queries, datasets.Options{})
	if err != nil {
		return nil, err
	}
	items, err := datasets.Collect(src)
	if err != nil {
		return nil, err
	}
	if len(items) == 0 {
		return nil, fmt.Errorf("%w: queries: %s holds none", harness.ErrConfig, job.Queries)
	}
	rects := make([]rstar.Rect, len(items))
	for i, it := range items {
		rects[i] = it.Rect
	}
	return rects, nil
}

// query returns the next query and its position.
func (p *plan) query() (rstar.Rect, int) {
	i := p.nQuery
	p.nQuery++
	if p.nQuery == len(p.queries) {
		p.nQuery = 0
	}
	return p.queries[i], i
}

// op returns the next operation. A delete or update with nothing left to
// work on becomes an insert, and counts as one.
func (p *plan) op() Op {
	op := p.ops[p.nOp]
	p.nOp++
	if p.nOp == len(p.ops) {
		p.nOp = 0
	}
	if (op == Delete || op == Update) && p.first == len(p.live) {
		return Insert
	}
	return op
}

func (p *plan) rect() rstar.Rect {
	r := p.inserts[p.nInsert]
	p.nInsert++
	if p.nInsert == len(p.inserts) {
		p.nInsert = 0
	}
	return r
}

func (p *plan) newItem() rstar.Item {
	p.nextID++
	return rstar.Item{Rect: p.rect(), ID: p.nextID}
}

// keep notes an object that is in the tree.
func (p *plan) keep(it rstar.Item) {
	if p.first == len(p.live) {
		p.live, p.first = p.live[:0], 0
	} else if p.first > insertRects && p.first > len(p.live)/2 {
		p.live = p.live[:copy(p.live, p.live[p.first:])]
		p.first = 0
	}
	p.live = append(p.live, it)
}

// oldest takes out the object that was kept first.
func (p *plan) oldest() rstar.Item {
	it := p.live[p.first]
	p.first++
	return it
}
