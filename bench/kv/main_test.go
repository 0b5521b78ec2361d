package kv

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/rpc"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/internal/affinity"
	"github.com/catfish-index/catfish/internal/child"
	kvmap "github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/mapped"
)

// childArg makes this test binary a child process over a fake system: childArg
// ROLE FAULT CPUS. Its server is a kv.Map behind net/rpc.
const childArg = "kv-child"

func TestMain(m *testing.M) {
	if len(os.Args) == 5 && os.Args[1] == childArg {
		if err := fakeChild(child.Role(os.Args[2]), os.Args[3], os.Args[4]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// fakeSpawn starts this test binary with a fault: "" for none.
func fakeSpawn(fault string) func(string) child.Spawn {
	return func(string) child.Spawn {
		return func(role child.Role, cpus affinity.Set) *exec.Cmd {
			return exec.Command(os.Args[0], childArg, string(role), fault, cpus.String())
		}
	}
}

func fakeChild(role child.Role, fault, cpus string) error {
	set, err := affinity.Parse(cpus)
	if err == nil {
		err = affinity.Reexec(set)
	}
	if err != nil {
		return err
	}
	if fault == "panic-"+string(role) {
		panic("told to")
	}
	if role == ServerRole {
		return ServerMain(context.Background(), os.Stdin, os.Stdout,
			func(_ context.Context, _ ServerJob, note func(string)) (Server, error) {
				if fault == "start" {
					return nil, errors.New("no memory")
				}
				note("starting")
				return startFake()
			})
	}
	return ClientMain(context.Background(), os.Stdin, os.Stdout, func(_ context.Context, job ClientJob) (Store, error) {
		return dialFake(job, fault)
	})
}

type fakeServer struct {
	net.Listener
	m     *kvmap.Map
	began time.Time
}

func newMap() (*kvmap.Map, error) {
	began := time.Now()
	index, err := mapped.Map(16 << 20)
	if err != nil {
		return nil, err
	}
	records, err := mapped.Map(64 << 20)
	if err != nil {
		return nil, err
	}
	return kvmap.New(kvmap.Options{
		Index: index, Records: records, Boot: 1, Seed: 2, Now: func() time.Duration { return time.Since(began) },
	})
}

func startFake() (Server, error) {
	m, err := newMap()
	if err != nil {
		return nil, err
	}
	s := &fakeServer{m: m, began: time.Now()}
	r := rpc.NewServer()
	if err := r.RegisterName("Map", &Service{m: m}); err != nil {
		return nil, err
	}
	if s.Listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	go r.Accept(s.Listener)
	return s, nil
}

func (s *fakeServer) Addr() string                  { return s.Listener.Addr().String() }
func (s *fakeServer) Version() string               { return "1.2" }
func (s *fakeServer) Usage() (harness.Usage, error) { return harness.UsageSince(s.began) }
func (s *fakeServer) Index() (Index, error)         { return IndexOf(s.m.Stats()), nil }

// Service is the target of net/rpc.
type Service struct {
	m       *kvmap.Map
	buffers sync.Pool
}

// Call is a key, and the value to store or the value found.
type Call struct {
	Key, Value []byte
	Put, Found bool
	Delete     bool
}

// Do executes calls in order.
func (s *Service) Do(calls []Call, answers *[]Call) error {
	b, _ := s.buffers.Get().(*kvmap.Buffer)
	if b == nil {
		b = new(kvmap.Buffer)
	}
	defer s.buffers.Put(b)
	for _, c := range calls {
		var err error
		switch {
		case c.Put:
			_, err = s.m.Put(kvmap.Entry{Key: c.Key, Value: c.Value}, kvmap.Condition{})
		case c.Delete:
			err = s.m.Delete(c.Key, kvmap.Condition{})
			c.Found = err == nil
		default:
			v, _, got := s.m.Get(c.Key, b)
			c.Found, c.Value, err = got == nil, append([]byte(nil), v.Value...), got
		}
		if err != nil && !errors.Is(err, kvmap.ErrNotFound) {
			return err
		}
		*answers = append(*answers, c)
	}
	return nil
}

// fakeStore is a connection to a Service.
type fakeStore struct {
	*rpc.Client
	job   ClientJob
	fault string
	gets  atomic.Uint64
	mu    sync.Mutex
	old   map[string][]byte // first value of each key, for fault "stale"
}

func dialFake(job ClientJob, fault string) (Store, error) {
	if fault == "dial" {
		return nil, errors.New("nobody there")
	}
	c, err := rpc.Dial("tcp", job.Addr)
	if err != nil {
		return nil, err
	}
	s := &fakeStore{Client: c, job: job, fault: fault, old: map[string][]byte{}}
	if job.Scheme == "piped" {
		return piped{s}, nil
	}
	return s, nil
}

func (s *fakeStore) do(ctx context.Context, calls ...Call) ([]Call, error) {
	var answers []Call
	if err := s.Call("Map.Do", calls, &answers); err != nil {
		return nil, err
	}
	for i := range answers {
		if a := &answers[i]; !a.Put && !a.Delete {
			if err := s.spoil(a, s.gets.Add(1)); err != nil {
				return nil, err
			}
		}
	}
	return answers, ctx.Err()
}

// spoil applies the fault to the n-th answer.
func (s *fakeStore) spoil(a *Call, n uint64) error {
	if n < 10 || !a.Found {
		return nil
	}
	switch s.fault {
	case "get":
		return errors.New("connection lost")
	case "lost":
		a.Found = n%5 > 0
	case "torn":
		if n%5 == 0 {
			a.Value[len(a.Value)-1] ^= 1
		}
	case "stale":
		s.mu.Lock()
		defer s.mu.Unlock()
		if old, ok := s.old[string(a.Key)]; ok {
			a.Value = old
		} else {
			s.old[string(a.Key)] = a.Value
		}
	}
	return nil
}

func (s *fakeStore) Get(ctx context.Context, key, dst []byte) ([]byte, error) {
	a, err := s.do(ctx, Call{Key: key})
	if err == nil && !a[0].Found {
		err = fmt.Errorf("%w: %s", ErrNotFound, key)
	}
	if err != nil {
		return dst, err
	}
	return append(dst, a[0].Value...), nil
}

func (s *fakeStore) GetMany(ctx context.Context, rs []Request) error {
	var calls []Call
	for i := range rs {
		calls = append(calls, Call{Key: rs[i].Key[:], Value: rs[i].Value, Put: rs[i].Put})
	}
	answers, err := s.do(ctx, calls...)
	for i, a := range answers {
		if !a.Put {
			rs[i].Found, rs[i].Value = a.Found, append(rs[i].Value[:0], a.Value...)
		}
	}
	return err
}

func (s *fakeStore) Put(ctx context.Context, key, value []byte) error {
	_, err := s.do(ctx, Call{Key: key, Value: value, Put: true})
	return err
}

func (s *fakeStore) Delete(ctx context.Context, key []byte) error {
	if s.fault == "undeleted" {
		return nil
	}
	a, err := s.do(ctx, Call{Key: key, Delete: true})
	if err == nil && !a[0].Found {
		err = ErrNotFound
	}
	return err
}

// Counters: offload needs 2 round trips, 3 reads, 200 bytes a Get, and each is a hit
// and invalid twice, for shares that are exact; everything else 1, 0 and 100.
func (s *fakeStore) Counters() Counters {
	n := s.gets.Load()
	if s.job.Scheme == "offload" {
		c := Counters{PointerHits: n, PointerInvalid: 2 * n}
		c.Counters = bench.Counters{Offloaded: n, RoundTrips: 2 * n, Reads: 3 * n, Bytes: 200 * n}
		return c
	}
	return Counters{Counters: bench.Counters{Fast: n, RoundTrips: n, Bytes: 100 * n}}
}

func (s *fakeStore) Info() bench.Info {
	return bench.Info{Transport: s.job.Transport, Policy: s.job.Scheme, Device: "a wire"}
}

// piped is a fakeStore that is a Pipeliner.
type piped struct{ *fakeStore }

func (p piped) Do(ctx context.Context, rs []Request) error { return p.GetMany(ctx, rs) }
