//go:build linux

package kvpeers

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/catfish-index/catfish/datasets/ycsb"
)

// store is a server that is a map; garble changes what is read.
type store struct {
	values map[ycsb.Key][]byte
	garble func(*Request)
	sets   int
}

func (s *store) Do(_ context.Context, rs []Request) error {
	for i := range rs {
		r := &rs[i]
		if r.Set {
			s.values[r.Key] = append([]byte(nil), r.Value...)
			s.sets++
			continue
		}
		v, ok := s.values[r.Key]
		r.Found, r.Value = ok, append(r.Value[:0], v...)
		if s.garble != nil {
			s.garble(r)
		}
	}
	return nil
}

func (s *store) GetMany(ctx context.Context, rs []Request) error { return s.Do(ctx, rs) }
func (s *store) Close() error                                    { return nil }

func testConfig(t *testing.T, letter string) Config {
	t.Helper()
	w, err := ycsb.Standard(letter)
	if err != nil {
		t.Fatal(err)
	}
	w.Keys, w.ValueBytes, w.LargestValueBytes, w.Seed = 200, 28, 200, 1
	return Config{
		Peers: Names(), Transport: Unix, Workload: w, Clients: 2, InFlight: 8, Batch: 1,
		Warmup: 10 * time.Millisecond, Duration: 200 * time.Millisecond, Repeat: 2,
	}
}

func loaded(t *testing.T, cfg *Config) (*store, *client) {
	t.Helper()
	s := &store{values: map[ycsb.Key][]byte{}}
	for i := range cfg.Workload.Keys {
		op := cfg.Workload.Load(i)
		s.values[op.Key] = op.AppendValue(nil)
	}
	c, err := newClient(cfg, s, 0, cfg.InFlight)
	if err != nil {
		t.Fatal(err)
	}
	return s, c
}

// Every mix is carried out: what writes, writes the value of its operation,
// and nothing is read that is not right.
func TestOnce(t *testing.T) {
	for _, letter := range []string{"A", "B", "C", "D", "F"} {
		cfg := testConfig(t, letter)
		s, c := loaded(t, &cfg)
		writes := 0
		for range 500 {
			if err := c.once(t.Context()); err != nil {
				t.Fatalf("mix %s: %v", letter, err)
			}
			last := map[ycsb.Key]uint64{}
			plain := map[ycsb.Key]uint64{}
			for i := range c.drawn {
				if op := &c.drawn[i]; op.Kind == ycsb.ReadModifyWrite {
					last[op.Key] = op.Seq
					writes++
				} else if op.Kind.Writes() {
					plain[op.Key] = op.Seq
					writes++
				}
			}
			for k, seq := range plain {
				if _, later := last[k]; !later {
					last[k] = seq
				}
			}
			for k, want := range last {
				if seq, err := ycsb.CheckValue(k, s.values[k]); err != nil || seq != want {
					t.Fatalf("mix %s: %s has %d, want %d: %v", letter, k, seq, want, err)
				}
			}
		}
		if s.sets != writes || (letter == "C") != (writes == 0) {
			t.Errorf("mix %s: %d sets, want %d", letter, s.sets, writes)
		}
	}
}

// What a server does wrong ends the run.
func TestWrongAnswers(t *testing.T) {
	cfg := testConfig(t, "C")
	for name, c := range map[string]struct {
		garble func(*Request)
		want   error
	}{
		"lost":    {func(r *Request) { r.Found = false }, ErrLost},
		"bit":     {func(r *Request) { r.Value[len(r.Value)-1] ^= 1 }, ycsb.ErrValue},
		"short":   {func(r *Request) { r.Value = r.Value[:len(r.Value)-1] }, ycsb.ErrValue},
		"another": {func(r *Request) { r.Value = ycsb.Value(ycsb.Key{}, 1, 64) }, ycsb.ErrValue},
	} {
		s, cl := loaded(t, &cfg)
		s.garble = c.garble
		if err := cl.once(t.Context()); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

func TestValidate(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"no peer":   func(c *Config) { c.Peers = nil },
		"peer":      func(c *Config) { c.Peers = []string{"dynamo"} },
		"scans":     func(c *Config) { c.Workload.Mix = ycsb.MixE },
		"value":     func(c *Config) { c.Workload.LargestValueBytes = maxValueBytes + 1 },
		"clients":   func(c *Config) { c.Clients = 0 },
		"many":      func(c *Config) { c.Clients, c.InFlight = 1<<40, 1<<40 },
		"batch":     func(c *Config) { c.Batch = 0 },
		"batch mix": func(c *Config) { c.Batch, c.InFlight = 2, 1 },
		"duration":  func(c *Config) { c.Duration = 0 },
		"repeat":    func(c *Config) { c.Repeat = 0 },
		"cores":     func(c *Config) { c.ClientCPUs = []int{1} },
	} {
		cfg := testConfig(t, "A")
		if err := cfg.Validate(); err != nil {
			t.Fatal(err)
		}
		change(&cfg)
		if err := cfg.Validate(); !errors.Is(err, ErrConfig) {
			t.Errorf("%s: %v", name, err)
		}
	}
	cfg := testConfig(t, "A")
	cfg.Workload.Keys = 0
	if err := cfg.Validate(); !errors.Is(err, ycsb.ErrConfig) {
		t.Error(err)
	}
}
