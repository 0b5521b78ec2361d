package groups

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/catfish-index/catfish/bench/lanes"
	"github.com/catfish-index/catfish/bench/stats"
	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/rdma/shm"
	"github.com/catfish-index/catfish/internal/rdma/soft"
)

// entryBytes is what HydraDB's figure 13 writes: a key of 16 bytes and a value of 32.
const entryBytes = 48

// lanes measures the ways of package lanes, which is one process: without namespaces over
// both transports.
func (l *lab) lanes(ctx context.Context, c cell) error {
	if c.network == Namespaces {
		return nil
	}
	for _, transport := range []string{"shm", "soft"} {
		for _, followers := range []int{1, 2} {
			for _, clients := range []int{1, 8} {
				if err := l.ways(ctx, c, transport, followers, clients); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (l *lab) ways(ctx context.Context, c cell, transport string, followers, clients int) error {
	l.note(fmt.Sprintf("lanes over %s: %d followers, %d clients", transport, followers, clients))
	strict := 0.0
	for _, mode := range []lanes.Mode{lanes.Strict, lanes.Relaxed, lanes.Received} {
		o := lanes.Config{Mode: mode, Followers: followers, Clients: clients, RingBytes: 4 << 20}
		var means []float64
		var counts lanes.Counts
		for range l.cfg.Rounds {
			took, n, err := runLane(ctx, o, transport, l.cfg.Entries, entryBytes)
			if err != nil {
				return err
			}
			means, counts = append(means, stats.Micros(took)), n
		}
		r := l.row(Lanes, c)
		r.Transport = transport
		r.Lane = &LaneRow{Mode: string(mode), Followers: followers, Clients: clients, Mean: stats.Median(means)}
		r.Lane.Answers = float64(counts.Answers) / float64(l.cfg.Entries)
		if mode == lanes.Strict {
			strict = r.Lane.Mean
		}
		r.Lane.Strict = stats.Ratio(r.Lane.Mean, strict)
		l.done(r)
	}
	return nil
}

// runLane writes n entries, and returns the mean latency of a client.
func runLane(ctx context.Context, c lanes.Config, transport string, n, size int) (took time.Duration, counts lanes.Counts, err error) {
	c.Listen = "127.0.0.1:0"
	c.Open = func() (rdma.Device, error) { return soft.Open(soft.Options{}) }
	if transport == "shm" {
		dir, err := os.MkdirTemp("", "catfish-bench-lanes-")
		if err != nil {
			return 0, counts, fmt.Errorf("groups: %w", err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
		c.Listen = filepath.Join(dir, "s")
		c.Open = func() (rdma.Device, error) { return shm.Open(shm.Options{}) }
	}
	g, err := lanes.Open(ctx, c)
	if err != nil {
		return 0, counts, err
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	took, err = g.Run(n, make([]byte, size))
	return took, g.Counts(), err
}

const (
	linkEntry = 256 << 10 // what a lane carries at once
	linkRing  = 16 << 20
)

// link measures what the bytes of a store take by a lane alone, and in memory.
func (s *SyncRow) link(ctx context.Context, c cell) error {
	n := int(max(1, s.Bytes/linkEntry))
	// With many clients nothing waits for the acknowledgement of what was just written.
	o := lanes.Config{Mode: lanes.Received, Followers: 1, Clients: 16, RingBytes: linkRing}
	mean, _, err := runLane(ctx, o, c.transport(), n, linkEntry)
	if err != nil {
		return err
	}
	perEntry := mean.Seconds() / float64(o.Clients)
	s.LaneMBs = linkEntry / 1e6 / perEntry
	from, to := make([]byte, linkRing), make([]byte, linkRing)
	for i := range from { // Pages that were never written are all the same one.
		from[i] = byte(i)
	}
	copied := copy(to, from) - linkRing
	began := time.Now()
	for copied < n*linkEntry {
		copied += copy(to, from)
	}
	s.MemoryMBs = float64(copied) / 1e6 / time.Since(began).Seconds()
	s.Share = stats.Ratio(s.MBs, min(s.LaneMBs, s.MemoryMBs))
	return nil
}
