package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/datasets"
	"github.com/catfish-index/catfish/rstar"
)

// StartCatfish is the StartServer of Catfish itself: it generates or
// reads the data set in the server's process, loads it into the default
// collection and serves where the job says, by default on a free port of
// the loopback interface.
func StartCatfish(ctx context.Context, job ServerJob, note func(string)) (Server, error) {
	src, err := job.open()
	if err != nil {
		return nil, err
	}
	opts := catfish.ServerOptions{
		Listen: job.Listen, WorkerPerConnection: job.WorkerPerConnection,
		HeartbeatInRing: job.HeartbeatInRing,
		NodeBytes:       job.NodeBytes, SlabBytes: job.SlabBytes, Strategy: job.Strategy, Fabric: catfish.Fabric(job.Fabric),
		Logger: slog.New(slog.DiscardHandler),
	}
	switch job.Transport {
	case catfish.TransportSHM, catfish.TransportSoft, catfish.TransportOFI:
		opts.Transports = []string{job.Transport}
	}
	if !job.Empty {
		note("loading " + job.Dataset)
	}
	s := &server{ended: make(chan error, 1)}
	if s.Server, err = catfish.NewServer(opts); err != nil {
		return nil, err
	}
	var items []rstar.Item
	if s.tree, err = s.Collection(catfish.DefaultCollection); err == nil {
		items, err = gather(s.tree, src)
	}
	for i, it := range items {
		if i == 0 {
			s.bounds = it.Rect
		}
		s.bounds = s.bounds.Union(it.Rect)
	}
	if bounds, known := src.Bounds(); known {
		s.bounds = bounds
	}
	switch {
	case err != nil:
	case job.Inserted:
		err = InsertAll(ctx, s.tree, items, note)
	default:
		err = s.tree.Load(items)
	}
	if err != nil {
		s.Server.Close()
		return nil, err
	}
	go func() { s.ended <- s.Serve(ctx) }()
	return s, nil
}

// gather reads the objects to load, at most as many as the tree or memory takes.
func gather(t *rstar.Tree, src *datasets.Source) ([]rstar.Item, error) {
	g := datasets.NewGather(t)
	err := g.Read(src)
	if errors.Is(err, datasets.ErrTooMany) {
		err = fmt.Errorf("%w: %w; the tree has %d bytes, want a larger --slab-bytes",
			rstar.ErrSlabFull, err, t.Stats().SlabBytes)
	}
	return g.Items(), err
}

func (j ServerJob) open() (*datasets.Source, error) {
	if j.Empty {
		return datasets.FromItems("nothing", nil), nil
	}
	return OpenDataset(j.Dataset, j.Objects, j.Seed)
}

// OpenDataset opens what Config.Dataset names. Only generators take the
// number of objects and the seed.
func OpenDataset(name string, objects int, seed uint64) (*datasets.Source, error) {
	opts := datasets.Options{Seed: seed}
	switch name {
	case "uniform", "skewed", "rea02-like":
		opts.Count = int64(objects)
	}
	return datasets.Open(name, opts)
}

type server struct {
	*catfish.Server
	tree   *rstar.Tree
	bounds rstar.Rect
	ended  chan error
}

// Catfish is the server itself, of a Server that StartCatfish returned.
func (s *server) Catfish() *catfish.Server { return s.Server }

func (s *server) NodeBytes() int     { return s.tree.NodeBytes() }
func (s *server) Len() int           { return s.tree.Len() }
func (s *server) Bounds() rstar.Rect { return s.bounds }

func (s *server) Close() error {
	err := s.Server.Close()
	if served := <-s.ended; served != nil {
		return served
	}
	return err
}

// DialCatfish is the Dialer of Catfish itself.
func DialCatfish(ctx context.Context, job ClientJob) (Conn, error) {
	c, err := job.Dial(ctx, catfish.Options{})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Dial connects as the job says; opts supplies the options that a job lacks.
func (job ClientJob) Dial(ctx context.Context, opts catfish.Options) (CatfishConn, error) {
	opts.Transport, opts.Policy, opts.Fabric = job.Transport, job.Policy, catfish.Fabric(job.Fabric)
	opts.Backoff = job.Backoff
	opts.Logger = slog.New(slog.DiscardHandler)
	c, err := catfish.Dial(ctx, job.Addr, opts)
	if err != nil {
		return CatfishConn{}, fmt.Errorf("dialling %s: %w", job.Addr, err)
	}
	return CatfishConn{c}, nil
}

// CatfishConn is the Conn of Catfish itself.
type CatfishConn struct{ *catfish.Client }

// SearchAppend finds all objects.
func (c CatfishConn) SearchAppend(ctx context.Context, dst []rstar.Item, q rstar.Rect) ([]rstar.Item, error) {
	return c.Client.SearchAppend(ctx, dst, q, 0)
}

// SearchMany is the client's.
var _ Batcher = CatfishConn{}

// Nearest counts them.
func (c CatfishConn) Nearest(ctx context.Context, x, y float64, k int) (int, error) {
	found, err := c.Client.Nearest(ctx, x, y, k)
	return len(found), err
}

// Counters are the client's, as bench names them.
func (c CatfishConn) Counters() Counters {
	n := c.Client.Counters()
	return Counters{
		Fast: n.FastSearches, Offloaded: n.OffloadedSearches,
		FellBack: n.FellBack, Reads: n.Reads + n.AnswerReads, RoundTrips: n.RoundTrips + n.AnswerReads,
		Bytes:    n.BytesRead + n.BytesSent + n.BytesReceived,
		Restarts: n.Restarts, TornReads: n.TornReads,
		Cached: n.CachedNodes, Repairs: n.Repairs,
		AnswerReads: n.AnswerReads, AnswersMissed: n.AnswersMissed, AnswerChanges: n.AnswerChanges,
	}
}

// Gauges are the client's, as bench names them.
func (c CatfishConn) Gauges() Gauges {
	n := c.Client.Counters()
	return Gauges{
		Busy: n.Policy.Busy, Left: n.Policy.Left, ServerUtil: n.ServerCPU,
		PeakUtil: n.Policy.Peak,
	}
}

// Info is the client's, as bench names it.
func (c CatfishConn) Info() Info {
	i := c.Client.Info()
	return Info{
		Transport: i.Transport, Device: i.Device, Policy: i.Policy, NodeBytes: i.NodeBytes,
	}
}
