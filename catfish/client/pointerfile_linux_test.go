package client

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/mapped"
	"github.com/catfish-index/catfish/internal/record"
)

// TestSharedPointers: a client of another process (here: of another Shared) reads at once what the first
// has looked up, if both name a file; and a record that was changed is looked up again.
func TestSharedPointers(t *testing.T) {
	for name, shards := range map[string]int{"undivided": 0, "shards": 3} {
		s := startRecords(t, server.Options{RecordShards: shards, Workers: 2})
		ctx := t.Context()
		for _, tr := range oneSided {
			file := filepath.Join(t.TempDir(), "pointers")
			with := func(file string) *Records {
				return dialRecords(t, s, Options{Transport: tr, Policy: "offload-cached", Shared: new(Shared), SharedPointers: file})
			}
			a, b, alone := with(file), with(file), with("")
			for i, counted := 0, 0; counted < 20; i++ {
				var wrong []string
				began := time.Now()
				if _, err := a.Put(ctx, model.Record{Key: testKey(i), Value: []byte("1")}, kv.Condition{}); err != nil {
					t.Fatal(err)
				}
				for step, c := range []struct {
					r             *Records
					hits, invalid uint64
					want          string
				}{{a, 0, 0, "1"}, {b, 1, 0, "1"}, {alone, 0, 0, "1"}, {nil, 0, 0, "2"}, {b, 0, 1, "2"}, {a, 1, 0, "2"}} {
					if c.r == nil {
						if _, err := alone.Put(ctx, model.Record{Key: testKey(i), Value: []byte(c.want)}, kv.Condition{}); err != nil {
							t.Fatal(err)
						}
						continue
					}
					rec, x, err := c.r.Explain(ctx, testKey(i))
					if err != nil || x.PointerHits != c.hits || x.PointerInvalid != c.invalid || string(rec.Value) != c.want {
						wrong = append(wrong, fmt.Sprintf("step %d: %q, %+v, %v", step, rec.Value, x, err))
					}
				}
				// What was looked up is kept for a second.
				if time.Since(began) > record.DefaultGrace/2 {
					continue
				}
				if counted++; wrong != nil {
					t.Errorf("%s, %s, key %d: %s", name, tr, i, wrong)
				}
			}
		}
	}
}

// TestSharedPointersOptions: where the file is, and which are refused.
func TestSharedPointersOptions(t *testing.T) {
	s := startRecords(t, server.Options{Transports: []string{model.TransportSHM}})
	dir := t.TempDir()
	t.Setenv("XDG_RUNTIME_DIR", dir)
	o := Options{Transport: model.TransportSHM, Policy: "offload-cached", Shared: new(Shared), SharedPointers: "auto"}
	dial(t, s, o)
	info, err := os.Stat(filepath.Join(dir, "catfish-pointers"))
	if err != nil || info.Mode() != 0o600 || info.Size() > DefaultCacheBytes || info.Size() < DefaultCacheBytes-128 {
		t.Errorf("%v, %v", info, err)
	}
	if n := o.Shared.pointerFiles.Len(); n != 1 {
		t.Errorf("%d files are mapped", n)
	}
	other := filepath.Join(dir, "other")
	if err := os.WriteFile(other, []byte("not pointers"), 0o600); err != nil {
		t.Fatal(err)
	}
	open := filepath.Join(dir, "open")
	if err := os.WriteFile(open, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o666); err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		file, policy, runtime, says string
		is                          error
	}{
		"without a cache":     {"auto", "offload", dir, "without a cache", model.ErrOption},
		"without a directory": {"auto", "", "", `XDG_RUNTIME_DIR, which is ""`, model.ErrOption},
		"another file":        {other, "", dir, other, model.ErrOption},
		"open to others":      {open, "", dir, "0666", mapped.ErrNotOurs},
	} {
		t.Setenv("XDG_RUNTIME_DIR", c.runtime)
		o := Options{Policy: c.policy, Shared: new(Shared), SharedPointers: c.file}
		if _, err := Dial(t.Context(), s.Addr(), o); !errors.Is(err, c.is) || !errors.Is(err, model.ErrOption) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", what, err)
		}
		if n := o.Shared.pointerFiles.Len(); n != 0 {
			t.Errorf("%s: %d files are mapped", what, n)
		}
	}
}
