package features

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/bench/resp"
	"github.com/catfish-index/catfish/internal/places"
)

// Tile38
//
// Its server is an unchanged program, on the cores of Catfish's, which writes
// nothing to disk. It gets the same features, as GeoJSON with all properties,
// and the property Tenth as a field, by which it filters. Clients speak RESP,
// and send several requests together (package resp), which is fastest.

// tile38Key is the name of the collection.
const tile38Key = collection

// tile38Limit exceeds the size of any answer; the default of Tile38 is 100.
const tile38Limit = "100000"

type tile38Server struct {
	*harness.Program
	dir string
}

func startTile38(ctx context.Context, job ServerJob, note func(string)) (_ server, _ *ServerReady, err error) {
	s := &tile38Server{}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if s.dir, err = os.MkdirTemp("", "catfish-tile38-"); err != nil {
		return nil, nil, err
	}
	addr, port, err := harness.FreeAddr()
	if err != nil {
		return nil, nil, err
	}
	if s.Program, err = harness.StartProgram("", nil, s.dir, job.Tile38, "-h", "127.0.0.1", "-p", port, "-d", s.dir, "--appendonly", "no", "-q"); err != nil {
		return nil, nil, fmt.Errorf("%w (Tile38 is built from its source, github.com/tidwall/tile38)", err)
	}
	if err := s.AwaitAddr(ctx, "tcp", addr); err != nil {
		return nil, nil, err
	}
	ready := &ServerReady{Addr: addr}
	if ready.Version, err = version(ctx, addr); err == nil && job.Load {
		err = s.load(ctx, job, ready, note)
	}
	if err != nil {
		return nil, nil, err
	}
	return s, ready, nil
}

func version(ctx context.Context, addr string) (string, error) {
	c, err := resp.Dial(ctx, addr)
	if err != nil {
		return "", err
	}
	defer c.Close()
	lines, err := c.Texts("SERVER")
	for i, l := range lines {
		if l == "tile38_version" && i+1 < len(lines) {
			return lines[i+1], err
		}
	}
	return "", err
}

// load stores the features, several commands together.
func (s *tile38Server) load(ctx context.Context, job ServerJob, ready *ServerReady, note func(string)) error {
	d, err := Open(job.DataJob)
	if err != nil {
		return err
	}
	if ready.Memory.Before, err = s.Resident(); err != nil {
		return err
	}
	c, err := resp.Dial(ctx, ready.Addr)
	if err != nil {
		return err
	}
	defer c.Close()
	start := time.Now()
	var batch [][]string
	for i := 0; i < d.Len(); {
		batch = batch[:0]
		for ; i < d.Len() && len(batch) < fillBatch; i++ {
			f := d.Feature(i)
			text, err := places.AppendFeature(nil, places.Place{ID: f.ID, Geometry: f.Geometry, Properties: f.Properties})
			if err != nil {
				return err
			}
			batch = append(batch, []string{"SET", tile38Key, f.ID, "FIELD", Tenth, strconv.Itoa(tenth(i)), "OBJECT", string(text)})
		}
		if err := c.Do(batch, func(int, *resp.Reply) { ready.Features++ }); err != nil {
			return err
		}
		if i/noteFeatures != (i-len(batch))/noteFeatures {
			note(fmt.Sprintf("tile38: loaded %d of %d features", i, d.Len()))
		}
	}
	ready.Took = time.Since(start)
	ready.Memory.Resident, err = s.Resident()
	return err
}

func (s *tile38Server) usage(began time.Time) (harness.Usage, error) { return s.Usage(began) }

func (s *tile38Server) local(context.Context, LoadJob, time.Time) (*Sample, error) {
	return nil, fmt.Errorf("%w: Tile38 has no work in its own process", harness.ErrConfig)
}

func (s *tile38Server) weighed(context.Context) (*MemoryState, error) {
	return nil, fmt.Errorf("%w: Tile38 is weighed when it has loaded", harness.ErrConfig)
}

func (s *tile38Server) close() {
	if s.Program != nil {
		_ = s.Stop(syscall.SIGTERM)
	}
	if s.dir != "" {
		_ = os.RemoveAll(s.dir) // Leftovers are in the temporary directory.
	}
}

// openTile38 has one loop for each connection, which sends searches together.
func openTile38(ctx context.Context, job LoadJob) (*steps, error) {
	qs, err := readQueries(job.Queries)
	if err != nil {
		return nil, err
	}
	var conns []*resp.Conn
	s := &steps{close: sync.OnceFunc(func() {
		for _, c := range conns {
			c.Close()
		}
	})}
	for range job.Clients {
		c, err := resp.Dial(ctx, job.Addr)
		if err != nil {
			s.close()
			return nil, err
		}
		conns = append(conns, c)
		s.all = append(s.all, tile38Step(job, c, qs))
	}
	return s, nil
}

func tile38Step(job LoadJob, c *resp.Conn, qs []Query) step {
	chosen := make([]*Query, job.InFlight)
	commands := make([][]string, job.InFlight)
	return func(_ context.Context, rng *rand.Rand) (d done, err error) {
		for i := range chosen {
			q := &qs[rng.IntN(len(qs))]
			chosen[i], commands[i] = q, tile38Command(job.Work, q)
		}
		err = c.Do(commands, func(i int, r *resp.Reply) {
			d.ops++
			d.features += r.Objects
			d.wanted += chosen[i].Want
		})
		return d, err
	}
}

func tile38Command(work string, q *Query) []string {
	n := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	b := q.Box
	if work == Nearest {
		tenth := strconv.Itoa(nearestTenth)
		return []string{"NEARBY", tile38Key, "WHERE", Tenth, tenth, tenth, "LIMIT", strconv.Itoa(nearestK), "OBJECTS", "POINT", n(b[1]), n(b[0])}
	}
	return []string{"INTERSECTS", tile38Key, "LIMIT", tile38Limit, "OBJECTS", "BOUNDS", n(b[1]), n(b[0]), n(b[3]), n(b[2])}
}
