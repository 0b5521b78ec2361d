//go:build linux

package main

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/bench/kvpeers"
	"github.com/catfish-index/catfish/datasets/ycsb"
)

func TestParse(t *testing.T) {
	o, err := parse(strings.Fields("-mix D -keys 10 -value-bytes 64 -scheme memcached -clients 3 -in-flight 4"+
		" -transport tcp -server-cpus 0 -client-cpus 1-2 -seed 7 -json -"), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	w := o.Workload
	if w.Mix != ycsb.MixD || w.Dist != ycsb.Latest || w.Theta != ycsb.Theta || w.Keys != 10 || w.ValueBytes != 64 ||
		w.Seed != 7 || len(o.Peers) != 1 || o.Clients != 3 || o.InFlight != 4 || o.Transport != kvpeers.TCP ||
		o.ServerCPUs.String() != "0" || len(o.ClientCPUs) != 2 || o.json != "-" {
		t.Errorf("%+v", o)
	}
	if o, err = parse(strings.Fields("-mix C -dist uniform -batch 64"), io.Discard); err != nil ||
		o.Workload.Dist != ycsb.Uniform || o.InFlight != 1 || len(o.Peers) != len(kvpeers.Names()) {
		t.Errorf("%+v, %v", o, err)
	}
	for _, bad := range []string{"-mix E", "-mix X", "-dist x", "-scheme x", "-clients 0", "-server-cpus x",
		"-server-cpus 0", "-transport shm", "extra"} {
		if _, err := parse(strings.Fields(bad), io.Discard); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	if _, err := parse([]string{"-mix", "E"}, io.Discard); !errors.Is(err, kvpeers.ErrConfig) {
		t.Error(err)
	}
}

func TestTable(t *testing.T) {
	var b bytes.Buffer
	table(&b, []kvpeers.Row{{Scheme: "redis", Version: "7.0.15", Transport: "unix", OpsPerS: 1234.4, P50Us: 5.06, CPUUtil: 0.5}})
	if f := strings.Fields(strings.Split(b.String(), "\n")[1]); strings.Join(f, " ") != "redis 7.0.15 unix 1234 5.1 0.0 0.0 50% 0%" {
		t.Errorf("%q", b.String())
	}
}
