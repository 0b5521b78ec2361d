package kv

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/catfish"
	records "github.com/catfish-index/catfish/internal/kv"
)

// collection is the name of the measured collection.
const collection = "bench"

// StartCatfish is the StartServer of Catfish itself: it serves an empty collection
// of records on a free port of the loopback interface.
func StartCatfish(ctx context.Context, job ServerJob, _ func(string)) (_ Server, err error) {
	if isLiteral(job.Scheme) {
		return startLiteral(job)
	}
	began := time.Now()
	opts := catfish.ServerOptions{
		Fabric: catfish.Fabric(job.Fabric),
		Logger: slog.New(slog.DiscardHandler),
	}
	switch job.Transport {
	case catfish.TransportSHM, catfish.TransportSoft, catfish.TransportOFI:
		opts.Transports = []string{job.Transport}
	}
	c := &catfishServer{ended: make(chan error, 1), began: began}
	if job.Sync != "" {
		if c.dir, err = os.MkdirTemp(job.Dir, "catfish-kv-"); err != nil {
			return nil, fmt.Errorf("bench: a directory for records: %w", err)
		}
		opts.DataDir, opts.Sync = c.dir, catfish.SyncAlways
		if job.Sync == SyncOff {
			opts.Sync = catfish.SyncOff
		}
	}
	if c.Server, err = catfish.NewServer(opts); err != nil {
		return nil, errors.Join(err, os.RemoveAll(c.dir))
	}
	if c.shards, err = c.create(ctx, job); err != nil {
		return nil, errors.Join(err, c.Server.Close(), os.RemoveAll(c.dir))
	}
	go func() { c.ended <- c.Serve(ctx) }()
	return c, nil
}

type catfishServer struct {
	*catfish.Server
	shards interface{ Maps() []*records.Map }
	ended  chan error
	began  time.Time
	dir    string // of records that are kept; empty: none
}

func (s *catfishServer) create(ctx context.Context, job ServerJob) (interface{ Maps() []*records.Map }, error) {
	o := catfish.RecordsOptions{Table: job.Table, Items: job.Items, Shards: job.Shards, MaxBytes: job.MaxBytes}
	if job.Sync == "" {
		return s.CreateRecordShards(collection, o)
	}
	if err := s.WaitReady(ctx); err != nil {
		return nil, err
	}
	return s.CreateKeptRecords(collection, o)
}

func (s *catfishServer) Version() string               { return "" }
func (s *catfishServer) Usage() (harness.Usage, error) { return harness.UsageSince(s.began) }

func (s *catfishServer) Index() (Index, error) {
	var sum records.Stats
	for _, m := range s.shards.Maps() {
		sum.Add(m.Stats())
	}
	return IndexOf(sum), nil
}

// Posts are the work requests of all workers, and the requests that they answered.
func (s *catfishServer) Posts() (posts Posts) {
	for _, t := range s.Server.Stats().Transports {
		for _, w := range append(t.Workers, t.Ended) {
			posts.Posted += w.Posted
			posts.Requests += w.Requests
		}
	}
	return posts
}

func (s *catfishServer) Close() error {
	return errors.Join(s.Server.Close(), <-s.ended, os.RemoveAll(s.dir))
}

// DialCatfish is the Dialer of Catfish itself.
func DialCatfish(ctx context.Context, job ClientJob) (Store, error) {
	if isLiteral(job.Scheme) {
		return dialLiteral(ctx, job)
	}
	c, err := catfish.Dial(ctx, job.Addr, catfish.Options{
		Transport: job.Transport, Policy: job.Scheme, Fabric: catfish.Fabric(job.Fabric),
		FetchBytes: job.FetchBytes, FetchRetries: job.FetchRetries, FetchAlways: job.FetchAlways,
		Pointers: job.Pointers, SharedPointers: job.SharedPointers, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, fmt.Errorf("dialling %s: %w", job.Addr, err)
	}
	r, err := c.Records(collection)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return &catfishStore{Client: c, r: r}, nil
}

type catfishStore struct {
	*catfish.Client
	r    *catfish.Records
	many sync.Pool // of *many, the buffers of a GetMany
}

type many struct {
	keys  [][]byte
	found []catfish.Record
}

func (s *catfishStore) Get(ctx context.Context, key, dst []byte) ([]byte, error) {
	rec, err := s.r.Get(ctx, key, dst)
	if err != nil {
		return dst, notFound(err)
	}
	return rec.Value, nil
}

// notFound turns the error of a missing key into this package's.
func notFound(err error) error {
	if errors.Is(err, records.ErrNotFound) {
		err = fmt.Errorf("%w: %w", ErrNotFound, err)
	}
	return err
}

func (s *catfishStore) GetMany(ctx context.Context, rs []Request) (err error) {
	m, _ := s.many.Get().(*many)
	if m == nil {
		m = new(many)
	}
	defer s.many.Put(m)
	m.keys, m.found = m.keys[:0], m.found[:0]
	for i := range rs {
		m.keys = append(m.keys, rs[i].Key[:])
		m.found = append(m.found, catfish.Record{Value: rs[i].Value})
	}
	if m.found, err = s.r.GetMany(ctx, m.keys, m.found); err != nil {
		return err
	}
	for i := range rs {
		rs[i].Value, rs[i].Found = m.found[i].Value, m.found[i].Revision != 0
	}
	return nil
}

func (s *catfishStore) Put(ctx context.Context, key, value []byte) error {
	_, err := s.r.Put(ctx, catfish.Record{Key: key, Value: value}, records.Condition{})
	return err
}

func (s *catfishStore) Delete(ctx context.Context, key []byte) error {
	return notFound(s.r.Delete(ctx, key, records.Condition{}))
}

func (s *catfishStore) Counters() Counters {
	n := s.Client.Counters()
	return Counters{
		Counters: bench.Counters{
			Fast: n.FastGets, Offloaded: n.OffloadedGets, FellBack: n.FellBack,
			Reads: n.Reads, RoundTrips: n.RoundTrips, TornReads: n.TornReads, Restarts: n.Restarts,
			Bytes:       n.BytesRead + n.BytesSent + n.BytesReceived,
			AnswerReads: n.AnswerReads, AnswersMissed: n.AnswersMissed, AnswerChanges: n.AnswerChanges,
		},
		PointerHits: n.PointerHits, PointerInvalid: n.PointerInvalid,
	}
}

func (s *catfishStore) Info() bench.Info {
	i := s.Client.Info()
	return bench.Info{Transport: i.Transport, Device: i.Device, Policy: i.Policy}
}
