//go:build linux

package kvpeers

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/datasets/ycsb"
)

// columns are the JSON names of a struct and those embedded in it.
func columns(t reflect.Type) map[string]reflect.Type {
	all := map[string]reflect.Type{}
	for f := range t.Fields() {
		if f.Anonymous {
			for name, of := range columns(f.Type) {
				all[name] = of
			}
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		all[name] = f.Type
	}
	return all
}

// Whoever reads rows of bench run can read these: the columns that are not
// its own have the same names and types.
func TestColumns(t *testing.T) {
	own := "version dist theta ordered keys value_bytes largest_value_bytes"
	theirs := columns(reflect.TypeFor[bench.Row]())
	for name, of := range columns(reflect.TypeFor[Row]()) {
		if isOwn := strings.Contains(" "+own+" ", " "+name+" "); isOwn == (theirs[name] != nil) {
			t.Errorf("column %s: own %v, in bench.Row %v", name, isOwn, theirs[name])
		} else if !isOwn && theirs[name] != of {
			t.Errorf("column %s is %v, in bench.Row %v", name, of, theirs[name])
		}
	}
}

func TestRow(t *testing.T) {
	cfg := testConfig(t, "D")
	cfg.ServerCPUs, cfg.ClientCPUs = []int{0, 1}, []int{2}
	var runs []*outcome
	for _, v := range []float64{100, 300} {
		o := newOutcome()
		o.opsPerS, o.serverCores, o.clientCores = v, 0.5, 0.9
		o.latency[ycsb.Read].RecordMany(time.Duration(v)*time.Microsecond, 9)
		o.latency[ycsb.Insert].Record(time.Duration(v) * time.Microsecond)
		runs = append(runs, o)
	}
	row := newRow(&cfg, "redis", "7.0.15", runs)
	if row.OpsPerS != 200 || row.Spread["ops_per_s"] != [2]float64{100, 300} || len(row.Runs) != 2 ||
		row.CPUUtil != 0.25 || row.ClientUtil != 0.9 || row.MeanUs != 200 ||
		row.ByOp["read"].Count != 18 || row.ByOp["insert"].Count != 2 || len(row.ByOp) != 2 ||
		row.Mix != "D" || row.Dist != "latest" || row.Theta != 0.99 || row.ServerCPUs != "0-1" && row.ServerCPUs != "0,1" {
		t.Errorf("%+v", row)
	}
	var b bytes.Buffer
	var again Row
	if err := row.WriteJSON(&b); err != nil || json.Unmarshal(b.Bytes(), &again) != nil || !reflect.DeepEqual(row, again) {
		t.Errorf("%v: %s", err, b.Bytes())
	}
}

func TestParseStat(t *testing.T) {
	const stat = "123 (a ) b (c) S 1 123 123 0 -1 4194560 1 0 0 0 250 50 0 0 20 0 1 0 1 2 3"
	if got, err := parseStat([]byte(stat)); err != nil || got != 3*time.Second {
		t.Error(got, err)
	}
	for _, bad := range []string{"", "1 (x) S", strings.Replace(stat, "250", "x", 1)} {
		if _, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
