//go:build linux

package main

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/bench/kv"
	"github.com/catfish-index/catfish/bench/peers/kvpeers"
	"github.com/catfish-index/catfish/internal/affinity"
	"github.com/catfish-index/catfish/internal/child"
	"github.com/catfish-index/catfish/internal/ycsb"
)

func TestParse(t *testing.T) {
	o, err := parse(strings.Fields("--mix D -keys 10 -value-bytes 64 -scheme memcached-tcp -clients 3 -in-flight 4"+
		" -transport shm -server-cpus 0 -client-cpus 0 -seed 7 -json -"), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	w := o.Workload
	if w.Mix != ycsb.MixD || w.Dist != ycsb.Latest || w.Theta != ycsb.Theta || w.Keys != 10 || w.ValueBytes != 64 ||
		w.Seed != 7 || len(o.Schemes) != 1 || o.Clients != 3 || o.InFlight != 4 || o.InFlightOf != nil || o.Transport != "shm" ||
		o.ServerCPUs.String() != "0" || o.ClientCPUs.String() != "0" || o.json != "-" {
		t.Errorf("%+v", o)
	}
	if o, err = parse(strings.Fields("-mix C -dist uniform -batch 64 -peer-in-flight 3"), io.Discard); err != nil ||
		o.Workload.Dist != ycsb.Uniform || o.InFlight != 1 || o.InFlightOf != nil || !slices.Equal(o.Schemes, kvpeers.Schemes("")) {
		t.Errorf("%+v, %v", o, err)
	}
	if o, err = parse(strings.Fields("-catfish x -in-flight 64 -peer-in-flight 16"), io.Discard); err != nil ||
		o.InFlight != 64 || o.InFlightOf["redis-unix"] != 16 || o.InFlightOf["fast"] != 0 ||
		!slices.Equal(o.Schemes, slices.Concat(kv.DefaultSchemes, kvpeers.Schemes(""))) {
		t.Errorf("%+v, %v", o, err)
	}
	if o, err = parse(strings.Fields("-sync always -dir /data"), io.Discard); err != nil || o.Sync != kv.SyncAlways || o.Dir != "/data" ||
		!slices.Equal(o.Schemes, []string{"redis-unix", "redis-tcp", "redis-auto-unix", "redis-auto-tcp"}) {
		t.Errorf("%+v, %v", o, err)
	}
	for _, bad := range []string{"-mix E", "-mix X", "-dist x", "-scheme x", "-scheme redis", "-scheme fast", "-clients 0 -clients -1",
		"-server-cpus x", "-server-cpus 1023", "-peer-in-flight -1", "-repeat -1", "extra", "-catfish x -scheme fast -transport tcp",
		"-sync daily", "-sync off -scheme memcached-tcp"} {
		_, err := parse(strings.Fields(bad), io.Discard)
		if !errors.Is(err, harness.ErrConfig) && !errors.Is(err, errUsage) && !errors.Is(err, affinity.ErrBadList) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// Peers' children are this program's, all others Catfish's.
func TestSpawner(t *testing.T) {
	o := options{catfish: "/bin/catfish"}
	spawn := o.spawner("/bin/self")
	for scheme, want := range map[string]string{
		"redis-unix":    "/bin/self child kv-server 0-1",
		"memcached-tcp": "/bin/self child kv-server 0-1",
		"fast":          "/bin/catfish bench child kv-server --cpus 0-1",
		"offload":       "/bin/catfish bench child kv-server --cpus 0-1",
	} {
		got := strings.Join(spawn(scheme)(kv.ServerRole, affinity.Set{0, 1}).Args, " ")
		if strings.ReplaceAll(got, "0,1", "0-1") != want {
			t.Errorf("%s: %q, want %q", scheme, got, want)
		}
	}
}

// A child without a parent ends, and an unknown role is refused.
func TestWork(t *testing.T) {
	for _, role := range []string{string(kv.ServerRole), string(kv.ClientRole)} {
		if err := childOf(t, role); err != nil {
			t.Errorf("%s: %v", role, err)
		}
	}
	if err := childOf(t, "spy"); !errors.Is(err, errUsage) {
		t.Error(err)
	}
}

func childOf(t *testing.T, role string) error {
	t.Helper()
	return work(t.Context(), child.Role(role), "", strings.NewReader(""), io.Discard)
}

// Ratios are to peers only, and printed only if there are peers.
func TestShow(t *testing.T) {
	row := func(scheme string, ops float64) (r kv.Row) {
		r.Scheme, r.OpsPerS, r.Runs = scheme, ops, []float64{ops}
		return r
	}
	var b bytes.Buffer
	if err := show(&b, []kv.Row{row("fast", 1000), row("redis-unix", 100), row("redis-tcp", 50)}); err != nil {
		t.Fatal(err)
	}
	_, ratios, ok := strings.Cut(b.String(), "times the ops/s of")
	lines := strings.Split(ratios, "\n")
	if !ok || strings.Join(strings.Fields(lines[0]), " ") != "redis-unix redis-tcp" ||
		strings.Join(strings.Fields(lines[1]), " ") != "fast 10.00 20.00" || len(lines) != 5 {
		t.Errorf("%s", b.String())
	}
	b.Reset()
	if err := show(&b, []kv.Row{row("fast", 1000), row("offload", 100)}); err != nil || strings.Contains(b.String(), "times the ops") {
		t.Errorf("%v: %s", err, b.String())
	}
}
