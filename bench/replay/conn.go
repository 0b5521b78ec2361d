package replay

import (
	"context"
	"math"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/bench/stats"
	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/rstar"
)

// Conn is a bench.Conn with all kinds of requests of a recording.
type Conn interface {
	bench.Conn
	// SearchLimit is SearchAppend of at most limit objects, 0 for all.
	SearchLimit(ctx context.Context, dst []rstar.Item, q rstar.Rect, limit int) ([]rstar.Item, error)
	Count(ctx context.Context, q rstar.Rect) (int, error)
	// NearestAppend appends the k objects nearest to a point.
	NearestAppend(ctx context.Context, dst []rstar.Item, x, y float64, k int) ([]rstar.Item, error)
	// InsertMany inserts in order and returns how many are in.
	InsertMany(ctx context.Context, items []rstar.Item) (int, error)
	// Server returns the processor time that its server used so far, and how
	// many objects the collection has.
	Server(ctx context.Context) (ServerUse, error)
}

// ServerUse is a server's report of its use.
type ServerUse struct {
	CPUSeconds, UpSeconds, Cores float64
	Objects                      int
}

// util is the share of its cores that the server used between two
// readings, 0 to 1.
func (u ServerUse) util(later ServerUse) float64 {
	return min(1, stats.Ratio(later.CPUSeconds-u.CPUSeconds, (later.UpSeconds-u.UpSeconds)*later.Cores))
}

// Dialer makes one Conn for a job.
type Dialer func(ctx context.Context, job Job) (Conn, error)

// Dial is the Dialer of Catfish itself.
func Dial(ctx context.Context, job Job) (Conn, error) {
	c, err := job.Dial(ctx, catfish.Options{Collection: job.Collection, DialTimeout: job.DialTimeout})
	if err != nil {
		return nil, err
	}
	return conn{c, job.Collection}, nil
}

type conn struct {
	bench.CatfishConn
	collection string
}

func (c conn) SearchLimit(ctx context.Context, dst []rstar.Item, q rstar.Rect, limit int) ([]rstar.Item, error) {
	return c.Client.SearchAppend(ctx, dst, q, limit)
}

func (c conn) NearestAppend(ctx context.Context, dst []rstar.Item, x, y float64, k int) ([]rstar.Item, error) {
	found, err := c.Client.Nearest(ctx, x, y, k)
	for _, n := range found {
		dst = append(dst, n.Item)
	}
	return dst, err
}

func (c conn) Server(ctx context.Context) (ServerUse, error) {
	st, err := c.Stats(ctx)
	return ServerUse{
		CPUSeconds: st.CPUSeconds, UpSeconds: st.Uptime, Cores: st.Cores,
		Objects: st.Collections[c.collection].Len,
	}, err
}

// around is the square of all points within a distance, rounded outwards so
// that it contains all objects within the distance.
func around(x, y, within float64) rstar.Rect {
	down := func(v float64) float64 { return max(math.Nextafter(v, math.Inf(-1)), -math.MaxFloat64) }
	up := func(v float64) float64 { return min(math.Nextafter(v, math.Inf(1)), math.MaxFloat64) }
	return rstar.Rect{
		MinX: down(x - within), MinY: down(y - within), MaxX: up(x + within), MaxY: up(y + within),
	}
}
