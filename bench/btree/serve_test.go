package btree

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/catfish-index/catfish/internal/policy"
	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/rdma/faulty"
	"github.com/catfish-index/catfish/internal/rdma/shm"
	"github.com/catfish-index/catfish/internal/rdma/soft"
)

func opened(t *testing.T, dev rdma.Device, err error) rdma.Device {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dev.Close() })
	return dev
}

// served is a server and a way to dial it over the same transport.
func served(t *testing.T, transport string, slabBytes int) (*Server, func() rdma.Device) {
	t.Helper()
	open := func() rdma.Device {
		if transport == "soft" {
			d, err := soft.Open(soft.Options{})
			return opened(t, d, err)
		}
		d, err := shm.Open(shm.Options{})
		return opened(t, d, err)
	}
	at := Places{"127.0.0.1:0", "127.0.0.1:0"}
	if transport == "shm" {
		dir := t.TempDir()
		at = Places{filepath.Join(dir, "rings"), filepath.Join(dir, "reads")}
	}
	s, err := Serve(open(), at, slabBytes, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, open
}

func dialled(t *testing.T, s *Server, dev rdma.Device, scheme string) *Client {
	t.Helper()
	sch, err := policy.SchemeByName(scheme)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Dial(t.Context(), dev, s.Places(), sch, policy.NewGroup(), 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// checkSteady judges a range read beside writers: even keys are always there, odd ones come
// and go, and a value is its key's complement.
func checkSteady(items []Item, from, to uint64) error {
	next := from + from%2 // the next even key
	for i, it := range items {
		switch {
		case it.Key < from, it.Key > to, it.Value != ^it.Key, i > 0 && items[i-1].Key >= it.Key:
			return fmt.Errorf("keys %d to %d: %+v at place %d", from, to, it, i)
		case it.Key%2 == 0 && it.Key != next:
			return fmt.Errorf("keys %d to %d: key %d is missing", from, to, next)
		case it.Key%2 == 0:
			next += 2
		}
	}
	if next <= to {
		return fmt.Errorf("keys %d to %d: key %d is missing at the end", from, to, next)
	}
	return nil
}

// TestReadersBesideAWriter: range reads by messages and one-sided ones keep what they
// promise while a client writes, also over a device whose reads are torn, late and out of
// order.
func TestReadersBesideAWriter(t *testing.T) {
	const keys, scans = 6000, 60
	for _, transport := range []string{"shm", "soft"} {
		t.Run("transport="+transport, func(t *testing.T) {
			s, open := served(t, transport, SlabBytes(keys))
			for k := uint64(0); k < keys; k += 2 {
				if err := s.Tree.Put(k, ^k); err != nil {
					t.Fatal(err)
				}
			}
			torn := faulty.Wrap(open(), faulty.Options{Seed: 7, TornRead: 0.2, LateCompletion: 0.05, Reorder: 0.2})
			readers := map[string]*Client{
				"fast":           dialled(t, s, open(), "fast"),
				"offload":        dialled(t, s, torn, "offload"),
				"offload-single": dialled(t, s, open(), "offload-single"),
				"paper":          dialled(t, s, open(), "paper"),
			}
			writer := dialled(t, s, open(), "fast")
			var done atomic.Bool
			var reading, writing sync.WaitGroup
			writing.Go(func() {
				for k := uint64(1); !done.Load(); k = (k + 2*997) % keys {
					was, err := writer.Delete(t.Context(), k)
					if err == nil && !was {
						err = writer.Put(t.Context(), k, ^k)
					}
					if err != nil {
						t.Error(err)
						return
					}
				}
			})
			for name, c := range readers {
				reading.Go(func() {
					for i := range uint64(scans) {
						from := i * 401 % keys
						to := min(from+i*37%2000, keys-1)
						items, err := c.Scan(t.Context(), from, to, nil)
						if err == nil {
							err = checkSteady(items, from, to)
						}
						if v, ok, failed := c.Get(t.Context(), from&^1); failed != nil || !ok || v != ^(from&^1) {
							err = errors.Join(err, fmt.Errorf("get of %d: %d, %v, %w", from&^1, v, ok, failed))
						}
						if err != nil {
							t.Errorf("%s: %v", name, err)
							return
						}
					}
				})
			}
			reading.Wait()
			done.Store(true)
			writing.Wait()
			for name, c := range readers {
				n := c.Counts()
				if want := map[string]uint64{"offload": 2 * scans, "offload-single": 2 * scans}[name]; n.Reads != 2*scans || n.Offloaded != want && name != "paper" {
					t.Errorf("%s: %+v", name, n)
				}
				t.Logf("%s: %+v", name, n)
			}
			if torn.Count(faulty.TornRead) == 0 {
				t.Error("no read was torn")
			}
		})
	}
}

// TestRefused: requests that a server cannot carry out are its errors, and what it answers
// is checked.
func TestRefused(t *testing.T) {
	s, open := served(t, "soft", 3*NodeBytes)
	c := dialled(t, s, open(), "fast")
	var err error
	for k := uint64(0); err == nil && k < 1000; k++ {
		err = c.Put(t.Context(), k, k)
	}
	if !errors.Is(err, ErrServer) || s.Tree.Len() != MaxEntries {
		t.Errorf("%v, %d keys", err, s.Tree.Len())
	}
	if err := c.call(t.Context(), kindScan, 1); !errors.Is(err, ErrServer) {
		t.Errorf("a scan without an end: %v", err)
	}
	if err := c.call(t.Context(), 77, 1, 2); !errors.Is(err, ErrServer) {
		t.Errorf("a request of kind 77: %v", err)
	}
	if was, err := c.Delete(t.Context(), 5); !was || err != nil {
		t.Errorf("delete: %v, %v", was, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := c.Get(ctx, 1); err == nil {
		t.Error("a get after the end of its context has an answer")
	}
}
