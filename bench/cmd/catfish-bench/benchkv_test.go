package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/catfish-index/catfish/bench/kv"
	"github.com/catfish-index/catfish/internal/cli"
	"github.com/catfish-index/catfish/internal/cli/clitest"
	"github.com/catfish-index/catfish/internal/cuckoo"
	"github.com/catfish-index/catfish/internal/longer"
	"github.com/catfish-index/catfish/internal/ycsb"
)

// TestBenchKVFlags: the typed values are measured, and invalid flags are
// refused before anything starts.
func TestBenchKVFlags(t *testing.T) {
	f := benchKVFlags{
		mixes: []string{"D", "read=80,insert=20"}, keys: 10, valueBytes: 64, seed: 3, thetas: []float64{0.5, 0.6}, tables: []string{"conventional", "gcuckoo"},
		cfg: kv.Config{
			Schemes: []string{"fast"}, Clients: 1, InFlight: 2, Procs: 1, Batch: 4, Duration: 1e9, Repeat: 2, Transport: "shm",
		},
	}
	cfgs, err := f.configs(newBenchKV(nil).Flags())
	if err != nil || len(cfgs) != 8 {
		t.Fatalf("%+v, %v", cfgs, err)
	}
	if last := cfgs[7]; last.Label != "read=80,insert=20 0.6 gcuckoo" || last.Workload.Theta != 0.6 || last.Table != cuckoo.GCuckoo || last.Workload.Dist != ycsb.Zipfian {
		t.Errorf("%+v", last)
	}
	cfg := cfgs[0]
	if w := cfg.Workload; w.Mix != ycsb.MixD || w.Dist != ycsb.Latest || w.Theta != 0.5 || cfg.Table != cuckoo.Conventional ||
		w.Keys != 10 || w.ValueBytes != 64 || w.Seed != 3 || cfg.Batch != 4 || cfg.Commit == "" || len(cfg.ServerCPUs)+len(cfg.ClientCPUs) == 1 {
		t.Errorf("%+v, %v", cfg, err)
	}
	for says, args := range map[string]string{
		"mix \"X\"":                    "--mix X",
		"add up to 50":                 "--mix read=50",
		"mix E scans":                  "--mix E",
		"distribution \"pareto\"":      "--dist pareto",
		"--keys is empty or 0":         "--keys 0",
		"a whole number from 0":        "--keys many",
		"--value-bytes is empty or 0":  "--value-bytes 0",
		"values of -1":                 "--value-bytes -1",
		"--batch is empty or 0":        "--batch 0",
		"batch is 2000":                "--batch 2000",
		"shards is 65":                 "--shards 65",
		"--in-flight is empty or 0":    "--in-flight 0",
		"client-procs is 9":            "--client-procs 9",
		"unknown scheme \"quick\"":     "--scheme quick",
		"listed twice":                 "--scheme fast,fast",
		"--transport \"pigeon\"":       "--transport pigeon",
		"cannot run on transport":      "--transport tcp --scheme fast",
		"--server-cpus: bad list":      "--server-cpus x",
		"--duration is empty or 0":     "--duration 0s",
		"repeat is -1":                 "--repeat -1",
		"--table \"compact\"":          "--table compact",
		"items is 6":                   "--items 6",
		"a cache of 1000 bytes":        "--max-bytes 1000",
		"theta 11":                     "--theta 0.5,11",
		"sync is \"daily\"":            "--sync daily",
		"--dir does nothing":           "--dir x",
		"scheme \"literal\" keeps":     "--scheme literal --sync off",
		"fast 0.5 is listed twice":     "--theta 0.5,0.5 --scheme fast",
		"--items is empty or 0":        "--items 0",
		"--fabric-device does nothing": "--transport shm --fabric-device x",
		"--fetch-bytes does nothing":   "--scheme fast --fetch-bytes 36",
		"--fetch-always does nothing":  "--scheme literal --fetch-always",
		"fetch-bytes is -1":            "--scheme fetch --fetch-bytes -1",
		"fetch-retries is -2":          "--scheme fetch --fetch-retries -2",
		"fetches until the answer":     "--scheme fetch,literal --fetch-retries 5",
		"value-bytes of scheme":        "--scheme literal --value-bytes 40000",
		"default key index only":       "--scheme literal --items 1",
		"unknown pointers":             "--pointers guesses",
		"keeps references":             "--pointers answers --scheme fast,offload",
		"mix \"hydra-g\"":              "--mix hydra-g",
		"hydra-d, which is uniform":    "--mix hydra-d --dist zipf",
		"scheme \"indicator\" has":     "--scheme indicator --items 1",
		"shared-pointers is f":         "--scheme fast,literal --shared-pointers f",
	} {
		clitest.Fail(t, cli.ExitUsage, append([]string{"bench", "kv"}, strings.Fields(args)...), says, "--help' for usage.")
	}
}

// benchKVCase is one call of bench kv.
type benchKVCase struct {
	schemes    []string
	mix, batch string
	warmup     time.Duration
	shards     int
	shared     string // --shared-pointers
}

// One call, several schemes: one JSON object each, with consistent figures, and the
// figures that each scheme must show.
func TestBenchKV(t *testing.T) {
	for _, c := range []benchKVCase{
		{[]string{"tcp", "fast", "fetch", "literal", "indicator", "offload"}, "C", "1", 100 * time.Millisecond, 0, ""},
		// The client keeps references to records without a write in the last second; it
		// knows their age to a second.
		{[]string{"fast", "offload-cached"}, "C", "1", 2100 * time.Millisecond, 0, filepath.Join(t.TempDir(), "pointers")},
		{[]string{"tcp", "fast", "literal", "indicator", "offload", "offload-cached"}, "B", "8", 100 * time.Millisecond, 2, ""},
	} {
		longer.Measure(t, 200*time.Millisecond, func(d time.Duration) error { return c.measure(t, d) })
	}
}

// References that answers bring are used by the schemes that keep some, in a mix of HydraDB's.
func TestBenchKVPointers(t *testing.T) {
	longer.Measure(t, 200*time.Millisecond, func(d time.Duration) error {
		out := clitest.Succeed(t, "bench", "kv", "--scheme", "fast,offload-cached", "--mix", "hydra-b", "--pointers", "answers", "--keys", "3000",
			"--clients", "2", "--in-flight", "2", "--duration", d.String(), "--warmup", "50ms", "--transport", "shm", "--json", "-")
		lines := strings.Split(strings.TrimSpace(out), "\n")
		if len(lines) != 2 {
			t.Fatalf("%d rows: %s", len(lines), out)
		}
		fast, kept := clitest.Decode[kv.Row](t, lines[0]), clitest.Decode[kv.Row](t, lines[1])
		if fast.Mix != "read=90,update=10" || fast.Dist != "zipf" || fast.Pointers != "" || fast.PointerHits != 0 || fast.Wrong+kept.Wrong != 0 ||
			kept.Pointers != "answers" {
			t.Errorf("%+v, %+v", fast, kept)
		}
		if n := kept.ByOp["read"].Count; n < 1000 || kept.PointerHits == 0 || kept.PointerInvalid == 0 {
			return fmt.Errorf("%v hits and %v misses in %d gets", kept.PointerHits, kept.PointerInvalid, kept.ByOp["read"].Count)
		}
		// A hit is one read, and an invalid one is a read and a message: nothing is looked up.
		if want := kept.PointerHits + kept.PointerInvalid; kept.Reads > want+0.1 {
			t.Errorf("%v reads a call, %v hits, %v invalid", kept.Reads, kept.PointerHits, kept.PointerInvalid)
		}
		return nil
	})
}

// measure runs c for d. It returns as an error the checks for which d may have been too
// short: a scheme did nothing in it, or had no time to keep references.
func (c benchKVCase) measure(t *testing.T, d time.Duration) (short error) {
	out := clitest.Succeed(t, "bench", "kv", "--shards", strconv.Itoa(c.shards), "--scheme", strings.Join(c.schemes, ","), "--mix", c.mix, "--keys", "3000", "--value-bytes", "100",
		"--clients", "3", "--in-flight", "2", "--client-procs", "2", "--batch", c.batch, "--duration", d.String(), "--warmup", c.warmup.String(),
		"--seed", "5", "--transport", "shm", "--shared-pointers", c.shared, "--json", "-")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != len(c.schemes) {
		t.Fatalf("%d rows, want %d: %s", len(lines), len(c.schemes), out)
	}
	for i, l := range lines {
		r := clitest.Decode[kv.Row](t, l)
		transport := "shm"
		if r.Scheme == "tcp" {
			transport = "tcp"
		}
		if r.Scheme != c.schemes[i] || r.Transport != transport || r.Mix != c.mix || r.Shards != c.shards || r.Dist != "zipf" || r.Keys != 3000 || r.ValueBytes != 100 {
			t.Errorf("%+v", r)
		}
		if r.SharedPointers != (c.shared != "" && r.Scheme == "offload-cached") {
			t.Errorf("%s: shared pointers %t", r.Scheme, r.SharedPointers)
		}
		if r.ByOp["read"].Count == 0 || r.OpsPerS <= 0 || r.Checked == 0 {
			short = errors.Join(short, fmt.Errorf("%s: %d reads, %v operations/s, %d were checked", r.Scheme, r.ByOp["read"].Count, r.OpsPerS, r.Checked))
			continue
		}
		if r.P50Us > r.P99Us || r.Bytes <= 0 || r.Results != 1 || r.Wrong != 0 || r.LoadFactor <= 0 || r.LoadFactor > 1 {
			t.Errorf("%s: %+v", r.Scheme, r)
		}
		offloads, cached := strings.HasPrefix(r.Scheme, "offload"), r.Scheme == "offload-cached" && c.batch == "1"
		if (r.Offload == 1) != offloads || (r.Offload == 0) == offloads || (r.Reads > r.AnswerReads) != offloads ||
			r.Scheme != "offload-cached" && r.PointerHits > 0 {
			t.Errorf("%s, batch %s: offload share %v, %v reads, %v hits, %d gets", r.Scheme, c.batch, r.Offload, r.Reads, r.PointerHits, r.ByOp["read"].Count)
		}
		// The client decides by its own measurements how many answers it fetches.
		if fetch := r.Scheme == "fetch"; fetch && r.Reads != r.AnswerReads || r.AnswersMissed > r.AnswerReads ||
			!fetch && r.Scheme != kv.Literal && r.AnswerReads+r.AnswerChanges > 0 {
			t.Errorf("%s: %v reads of answers, %v in vain, %v changes", r.Scheme, r.AnswerReads, r.AnswersMissed, r.AnswerChanges)
		}
		if cached && r.PointerHits == 0 {
			short = errors.Join(short, fmt.Errorf("%s: no get of %d by a kept reference", r.Scheme, r.ByOp["read"].Count))
		}
	}
	if _, err := os.Stat(c.shared); c.shared != "" && err != nil {
		t.Error(err)
	}
	return short
}

// TestBenchKVFetched: Jakiro's mix over fetched answers, of Catfish's protocol and the literal one: both
// check what they read, and count trips, reads, posts and bytes of a call.
func TestBenchKVFetched(t *testing.T) {
	for _, dist := range []string{"uniform", "zipf"} {
		longer.Measure(t, 100*time.Millisecond, func(d time.Duration) error {
			out := clitest.Succeed(t, "bench", "kv", "--scheme", "fetch,literal,indicator", "--mix", "read=95,update=5", "--dist", dist, "--keys", "2000",
				"--clients", "2", "--in-flight", "1", "--shards", "2", "--fetch-bytes", "36", "--fetch-always", "--duration", d.String(), "--warmup", "50ms",
				"--transport", "shm", "--json", "-")
			lines := strings.Split(strings.TrimSpace(out), "\n")
			if len(lines) != 3 {
				t.Fatalf("%d rows: %s", len(lines), out)
			}
			for _, l := range lines {
				r := clitest.Decode[kv.Row](t, l)
				if r.ByOp["read"].Count < 1000 || r.ByOp["update"].Count == 0 {
					return fmt.Errorf("%s: %d reads, %d updates", r.Scheme, r.ByOp["read"].Count, r.ByOp["update"].Count)
				}
				if r.Wrong != 0 || r.FetchBytes != 36 || !r.FetchAlways || r.Dist != dist || r.Bytes <= 0 || len(r.CDF["read"]) == 0 {
					t.Errorf("%+v", r)
				}
				if r.Scheme == kv.Indicator && (r.ServerPosts < 0.99 || r.ServerPosts > 1.01 || r.AnswerReads != 0 || r.Trips != 1) {
					t.Errorf("indicator: %v posts a request, %v reads of answers, %v trips", r.ServerPosts, r.AnswerReads, r.Trips)
				}
				if found := r.AnswerReads - r.AnswersMissed; r.Scheme == kv.Literal && (r.ServerPosts != 0 || found < 0.95 || found > 1.05 || r.Trips < 1.95) {
					t.Errorf("literal: %v posts a request, %v reads that found an answer, %v trips", r.ServerPosts, found, r.Trips)
				} else if r.Scheme == "fetch" && (r.ServerPosts >= 1 || found <= 0 || r.Trips <= 1) {
					t.Errorf("fetch: %v posts a request, %v reads that found an answer, %v trips", r.ServerPosts, found, r.Trips)
				}
			}
			return nil
		})
	}
}

// TestBenchKVTable: the server has the table of --table and --items: with one item a bucket
// it is half as full when it grows, and the random walk kicks items that G-Cuckoo leaves.
func TestBenchKVTable(t *testing.T) {
	load := func(args ...string) kv.Row {
		out := clitest.Succeed(t, append(strings.Fields("bench kv --scheme fast --mix read=80,insert=20 --keys 3000 --clients 2 --in-flight 2"+
			" --duration 50ms --warmup 10ms --transport shm --theta 0.5 --json -"), args...)...)
		r := clitest.Decode[kv.Row](t, out)
		if r.Theta != 0.5 || r.Wrong != 0 {
			t.Errorf("%+v", r)
		}
		return r
	}
	five, one := load(), load("--items", "1", "--table", "conventional")
	if five.Items != 5 || five.Table != "gcuckoo" || one.Items != 1 || one.Table != "conventional" || one.LoadFactor > 0.6 {
		t.Errorf("%+v, %+v", five, one)
	}
}

// TestBenchKVKept: with --sync the server's records lie in a directory, which is removed afterwards; the row says so,
// and how much memory the server has.
func TestBenchKVKept(t *testing.T) {
	dir := t.TempDir()
	out := clitest.Succeed(t, append(strings.Fields("bench kv --scheme fast --mix A --mix update=100 --keys 3000 --clients 2 --in-flight 2 --duration 100ms"+
		" --warmup 10ms --transport shm --sync always --json - --dir"), dir)...)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != 2 {
		t.Fatalf("%d rows: %s", len(lines), out)
	}
	for _, l := range lines {
		r := clitest.Decode[kv.Row](t, l)
		if r.Sync != "always" || r.Wrong != 0 || r.Resident < 1<<20 || len(r.RunsMean) != 1 || r.RunsMean[0] != r.MeanUs || r.Label != r.Mix {
			t.Errorf("%+v", r)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
	missing := filepath.Join(dir, "missing")
	clitest.Fail(t, cli.ExitFailure, strings.Fields("bench kv --scheme fast --keys 3000 --sync off --dir "+missing), missing)
}

// TestBenchKVCache: with --max-bytes some keys have no record, which is not wrong, and the row
// and the table say how many had one.
func TestBenchKVCache(t *testing.T) {
	const args = "bench kv --scheme fast --mix A --keys 3000 --value-bytes 100 --clients 2 --in-flight 2 --warmup 10ms" +
		" --transport shm --max-bytes 128KiB --duration "
	longer.Measure(t, 50*time.Millisecond, func(d time.Duration) error {
		r := clitest.Decode[kv.Row](t, clitest.Succeed(t, strings.Fields(args+d.String()+" --json -")...))
		if n := r.ByOp["read"].Count; n < 200 {
			return fmt.Errorf("%d reads", n)
		}
		if r.MaxBytes != 128<<10 || r.Wrong != 0 || r.HitRate <= 0 || r.HitRate >= 1 || r.Results != r.HitRate {
			t.Errorf("%+v", r)
		}
		return nil
	})
	if out := clitest.Succeed(t, strings.Fields(args+"50ms")...); !strings.Contains(out, "fast: a cache of 131072 B, ") {
		t.Errorf("%s", out)
	}
}
