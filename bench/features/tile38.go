package features

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/datasets/places"
)

// Tile38
//
// Its server is an unchanged program, on the cores of Catfish's, which writes
// nothing to disk. It gets the same features, as GeoJSON with all properties,
// and the property Tenth as a field, by which it filters. Clients speak RESP,
// and send several requests together (resp.go), which is fastest.

// tile38Key is the name of the collection.
const tile38Key = collection

// tile38Limit exceeds the size of any answer; the default of Tile38 is 100.
const tile38Limit = "100000"

type tile38Server struct {
	cmd    *exec.Cmd
	dir    string
	ended  chan struct{}
	output bytes.Buffer
}

func startTile38(ctx context.Context, job ServerJob, note func(string)) (_ server, _ *ServerReady, err error) {
	s := &tile38Server{ended: make(chan struct{})}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if s.dir, err = os.MkdirTemp("", "catfish-tile38-"); err != nil {
		return nil, nil, err
	}
	addr, port, err := freePort()
	if err != nil {
		return nil, nil, err
	}
	s.cmd = exec.Command(job.Tile38, "-h", "127.0.0.1", "-p", port, "-d", s.dir, "--appendonly", "no", "-q")
	s.cmd.Stdout, s.cmd.Stderr = &s.output, &s.output
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	if err := s.cmd.Start(); err != nil {
		s.cmd = nil
		return nil, nil, fmt.Errorf("bench: starting %s: %w (Tile38 is built from its source, github.com/tidwall/tile38)", job.Tile38, err)
	}
	go func() { _ = s.cmd.Wait(); close(s.ended) }()
	if err := s.await(ctx, addr); err != nil {
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

func freePort() (addr, port string, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", "", err
	}
	defer l.Close()
	addr = l.Addr().String()
	_, port, err = net.SplitHostPort(addr)
	return addr, port, err
}

// await waits until the program can be connected to.
func (s *tile38Server) await(ctx context.Context, addr string) error {
	for {
		c, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		if err == nil {
			return c.Close()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.ended:
			return fmt.Errorf("bench: Tile38 ended: %v\n%s", s.cmd.ProcessState, s.output.Bytes())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func version(ctx context.Context, addr string) (string, error) {
	c, err := dialRESP(ctx, addr)
	if err != nil {
		return "", err
	}
	defer c.close()
	var lines []string
	err = c.do([][]string{{"SERVER"}}, func(_ int, r *reply) { lines = r.texts })
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
	if ready.Memory.Before, err = s.resident(); err != nil {
		return err
	}
	c, err := dialRESP(ctx, ready.Addr)
	if err != nil {
		return err
	}
	defer c.close()
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
		if err := c.do(batch, func(int, *reply) { ready.Features++ }); err != nil {
			return err
		}
		if i/noteFeatures != (i-len(batch))/noteFeatures {
			note(fmt.Sprintf("tile38: loaded %d of %d features", i, d.Len()))
		}
	}
	ready.Took = time.Since(start)
	ready.Memory.Resident, err = s.resident()
	return err
}

// resident is the memory of the program.
func (s *tile38Server) resident() (int64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", s.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	f := strings.Fields(string(b))
	if len(f) < 2 {
		return 0, fmt.Errorf("bench: /proc/PID/statm is %q", b)
	}
	pages, err := strconv.ParseInt(f[1], 10, 64)
	return pages * int64(os.Getpagesize()), err
}

// usage is that of the program, from proc(5), stat: utime and stime, fields 14 and
// 15, in ticks.
func (s *tile38Server) usage(began time.Time) (bench.Usage, error) {
	u, err := bench.UsageSince(began)
	if err != nil {
		return u, err
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	if err != nil {
		return u, err
	}
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(f) < 13 {
		return u, fmt.Errorf("bench: /proc/PID/stat is %.80q", b)
	}
	const perSecond = 100 // USER_HZ, on all that Go runs on
	u.CPU = 0
	for _, field := range f[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return u, fmt.Errorf("bench: /proc/PID/stat: %w", err)
		}
		u.CPU += time.Duration(n) * time.Second / perSecond
	}
	return u, nil
}

func (s *tile38Server) local(context.Context, LoadJob, time.Time) (*Sample, error) {
	return nil, fmt.Errorf("%w: Tile38 has no work in its own process", bench.ErrConfig)
}

func (s *tile38Server) weighed(context.Context) (*MemoryState, error) {
	return nil, fmt.Errorf("%w: Tile38 is weighed when it has loaded", bench.ErrConfig)
}

func (s *tile38Server) close() {
	if s.cmd != nil {
		_ = s.cmd.Process.Signal(syscall.SIGTERM)
		<-s.ended
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
	var conns []*respConn
	s := &steps{close: sync.OnceFunc(func() {
		for _, c := range conns {
			c.close()
		}
	})}
	for range job.Clients {
		c, err := dialRESP(ctx, job.Addr)
		if err != nil {
			s.close()
			return nil, err
		}
		conns = append(conns, c)
		s.all = append(s.all, tile38Step(job, c, qs))
	}
	return s, nil
}

func tile38Step(job LoadJob, c *respConn, qs []Query) step {
	chosen := make([]*Query, job.InFlight)
	commands := make([][]string, job.InFlight)
	return func(_ context.Context, rng *rand.Rand) (d done, err error) {
		for i := range chosen {
			q := &qs[rng.IntN(len(qs))]
			chosen[i], commands[i] = q, tile38Command(job.Work, q)
		}
		err = c.do(commands, func(i int, r *reply) {
			d.ops++
			d.features += r.objects
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
