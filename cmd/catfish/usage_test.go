package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/rdma/ofi"
)

// Every command explains itself with an example.
func TestHelp(t *testing.T) {
	var walk func(c *cobra.Command, path []string)
	walk = func(c *cobra.Command, path []string) {
		for _, sub := range c.Commands() {
			if sub.Name() == "help" || sub.Name() == "completion" || sub.Hidden {
				continue
			}
			walk(sub, append(path[:len(path):len(path)], sub.Name()))
		}
		if !strings.Contains(c.Example, "catfish ") {
			t.Errorf("%v has no example", path)
		}
		out := succeed(t, append(path, "--help")...)
		if !strings.Contains(out, c.Example) {
			t.Errorf("%v --help lacks its example:\n%s", path, out)
		}
	}
	walk(newRoot(&app{}), nil)
}

func TestBadUsage(t *testing.T) {
	const q = "0,0,1,1"
	broken := file(t, "broken", "")
	for _, c := range []struct {
		says string
		args string
	}{
		{`unknown command "serch"`, "serch"},
		{"did you mean serve or search", "serch"},
		{`unknown command "walk" for "catfish bench"`, "bench walk"},
		{"unknown flag: --speed", "search --speed 3"},
		{`unexpected argument "x": catfish search takes none`, "search x"},
		{"arguments: 1, want catfish features swap A B", "features swap a"},
		{`--memory-limit is "1x", want a number of bytes, such as 1073741824, 512MiB or 1GiB`, "serve --memory-limit 1x"},
		{"--bbox is missing", "search"},
		{`"0,0,1" has 3 coordinates, want 4: minx,miny,maxx,maxy`, "search --bbox 0,0,1"},
		{"has 5 coordinates", "search --bbox 0,0,1,1,1"},
		{`"NaN" is no finite number`, "search --bbox NaN,0,1,1"},
		{`"+Inf" is no finite number`, "count --bbox 0,0,+Inf,1"},
		{`"1e999" is no finite number`, "insert --id 1 --bbox 0,0,1e999,1"},
		{`"one" is no finite number`, "search --bbox one,0,1,1"},
		{"minx 2 exceeds maxx 1", "search --bbox 2,0,1,1"},
		{"miny 3 exceeds maxy 1", "delete --id 1 --rect 0,3,1,1"},
		{"--from is missing", "update --id 1"},
		{"--to", "update --id 1 --from " + q + " --to 0,0,NaN,1"},
		{"--id is missing", "insert --bbox " + q},
		{`--id is "-1", want a whole number from 0 to 18446744073709551615`,
			"insert --id -1 --bbox " + q},
		{`--limit is "x", want a whole number`, "search --limit x"},
		{`--duration is "5", want a duration such as 500ms or 5s`, "demo --duration 5"},
		{`--json is "2", want true or false`, "search --json=2"},
		{`--server "7119", want host or host:port`, "count --bbox " + q + " --server 7119"},
		{"with a port from 1 to 65535", "count --bbox " + q + " -s 127.0.0.1:0"},
		{`unknown policy "fst", want one of default, tcp`, "demo --policy fst"},
		{`transport "rdma", want one of auto, shm, soft`, "demo --transport rdma"},
		{"server-cpus: core not available: 1023", "demo --server-cpus 1023"},
		{"--limit is -1", "search --limit -1 --bbox " + q},
		{"want 2: x,y", "nearest --point 1"},
		{"-k is 0", "nearest --point 1,1 -k 0"},
		{"--dial-timeout is 0s", "status --dial-timeout 0s"},
		{`policy "quick"`, "search --policy quick --bbox " + q},
		{`transport "pigeon"`, "search --transport pigeon --bbox " + q},
		{`"pigeon" is unknown`, "serve --transport shm,pigeon"},
		{"want host or host:port", "serve --listen [nowhere"},
		{"want host or host:port", "serve --listen 127.0.0.1:70000"},
		{"want host:port", "serve --grpc 5"},
		{"--socket-mode", "serve --socket-mode 9"},
		{"bad list of cores", "serve --cpus 1-0"},
		{"core not available", "serve --cpus 1023"},
		{"--workers -1", "serve --workers -1"},
		{"files follow --load", "serve roads.csv"},
		{"collection name", "serve --listen 127.0.0.1:0 --collection a/b"},
		{"heartbeat", "serve --listen 127.0.0.1:0 --heartbeat 1ns"},
		{"FILE is missing", "load"},
		{"want one of csv", "load --format xml --file " + broken},
		{"OSM mode", "load --osm rivers --file " + broken},
		{"arguments: 0, want catfish gen ", "gen"},
		{"want one of csv", "gen uniform --as xml"},
		{"writing format", "gen uniform --objects 1 --as osm"},
		{"count -1", "gen uniform --objects -1"},
		{"at least 400ms", "demo --duration 1ms"},
		{"tcp has not", "demo --policy tcp"},
		{`unknown scheme "quick"`, "bench run --scheme quick"},
		{"listed twice", "bench run --scheme fast,fast"},
		{"mix", "bench run --mix search=50"},
		{"scale", "bench run --scale big"},
		{"--clients is empty or 0", "bench run --clients 0"},
		{"clients is -1", "bench run --clients -1"},
		{"--duration is empty or 0", "bench run --duration 0s"},
		{"clients is 1025, want 1 to 1024", "bench run --clients 1025 --worker-per-connection"},
		{"--workers 2 with --worker-per-connection", "serve --workers 2 --worker-per-connection"},
		{`--transport "pigeon"`, "bench run --transport pigeon"},
		{"--server-cpus: bad list", "bench run --server-cpus x"},
		{"client-cpus: core not available", "bench run --client-cpus 1023"},
		{"client-procs is 9", "bench run --client-procs 9"},
		{"node-bytes 7, slab-bytes 0: ", "bench run --node-bytes 7"},
		{"slab-bytes 1000: ", "bench run --slab-bytes 1000"},
		{"node-bytes 7, ", "bench paper --node-bytes 7"},
		{"node-bytes 7, ", "replay --data uniform --queries 1e-5 --node-bytes 7"},
		{"queries are missing", "replay --data uniform"},
		{"data is missing", "replay --queries 1e-5"},
		{"--ids goes with --results", "replay --data uniform --queries 1e-5 --ids"},
		{"--clients is empty or 0", "replay --data uniform --queries 1e-5 --clients 0"},
		{`unknown scheme "quick"`, "replay --data uniform --queries 1e-5 --scheme quick"},
		{`--transport "pigeon"`, "replay --data uniform --queries 1e-5 --transport pigeon"},
		{"--server-cpus is of a server that replay starts", "replay -s 127.0.0.1:1 --queries x --server-cpus 0"},
		{"want host or host:port", "replay --addr here: --queries x"},
		{"not bulk loaded", "replay --addr 127.0.0.1:1 --data uniform --queries 1e-5 --bulk"},
		{"no-load is for a running server", "replay --data uniform --queries 1e-5 --no-load"},
		{"--query-format", "replay --data uniform --queries x --query-format xml"},
		{"--dial-timeout is 0s", "replay --data uniform --queries 1e-5 --dial-timeout 0s"},
		{"--record-writes and --record-force go with --record", "serve --record-writes"},
		{`no such figure: "3", want all or some of 2, 7, 8, 9, 10`, "bench paper --figure 3"},
		{"s, want 1ms to 1h", "bench paper --figure 9 --duration 1us"},
		{"repeat is -1, want 1 to 1000", "bench paper --figure 9 --repeat -1"},
		{`--figure is "7", want 9`, "bench sim --figure 7"},
		{`bad network: "fast", want host, or a rate`, "bench paper --network fast"},
		{"--network lists host twice", "bench paper --network host,host"},
		{"--clients is empty or 0", "bench paper --clients 4,0"},
		{"clients lists 4 twice", "bench paper --clients 4,4"},
		{"clients is -1", "bench paper --clients -1"},
		{"clients is 20000, want 1 to 16384", "bench paper --clients 20000"},
		{"--requests is empty or 0", "bench paper --requests 0"},
		{"requests is -5", "bench paper --requests -5"},
		{"duration is -1s, want at least 10ms", "bench paper --duration -1s"},
		{"core not available", "bench paper --server-cpus 1023"},
		{`cluster "moon" is unknown, want one of connectx3, modern, paper, thismachine`, "bench sim --cluster moon"},
		{"no such file", "bench sim --cluster ./moon.toml"},
		{`policy "quick", want one of`, "bench sim --scheme fast,quick"},
		{"clients is 0", "bench sim --clients 0"},
		{`--clients is "many"`, "bench sim --clients many"},
		{"in-flight is -1", "bench sim --in-flight -1"},
		{"duration is 0s, want 1ms", "bench sim --duration 0s"},
		{"warmup is -1s", "bench sim --warmup -1s"},
		{"--mix: bad benchmark setting: mix", "bench sim --mix search=50"},
		{"which are not simulated", "bench sim --mix search=50,nearest=50"},
		{"scale", "bench sim --objects 100 --scale huge"},
		{"--objects is 0", "bench sim --objects 0"},
		{`--set "server.cores", want KEY=NUMBER`, "bench sim --set server.cores"},
		{`no number is called "server.speed"`, "bench sim --set server.speed=3"},
		{"server.cores is 0, want 1 to 4096", "bench sim --set server.cores=0"},
		{"are four things, want one", "bench sim --table --fit paper"},
		{"are four things, want one", "bench sim --figure 9 --check rows"},
		{"no rows", "bench sim --fit " + broken},
		{"no rows", "bench sim --check " + broken},
		{"--json with --fit", "bench sim --fit paper --json -"},
		{`--strategy is "best", want original or revised`, "serve --strategy best"},
		{`--strategy is "best", want original or revised`, "bench run --strategy best"},
		{`--strategy is "best", want original or revised`, "bench sim --strategy best"},
		{"--strategy is of a server that replay starts", "replay -s 127.0.0.1:1 --queries x --strategy original"},
		{"N is -1, want 1 to 1048576", "search --policy paper --backoff-n -1 --bbox " + q},
		{"T is 95, want more than 0, at most 1", "bench run --threshold 95"},
		{"T is 95, want more than 0, at most 1", "bench paper --threshold 95"},
		{`--threshold is "high", want a number`, "bench step --threshold high"},
		{"--threshold is empty or 0", "bench sim --threshold 0"},
		{"--backoff-n is empty or 0", "bench step --backoff-n 0"},
		{`predictor "best", want one of latest, mean, linear`, "bench sim --predictor best"},
		{"--predictor is of paper and paper-literal, not of cost", "search --predictor mean --bbox " + q},
		{"--threshold is of paper and paper-literal, not of tcp", "count --transport tcp --threshold 0.8 --bbox " + q},
		{"--backoff-n is of paper and paper-literal, not of fast, cost", "bench run --scheme fast,cost --backoff-n 4"},
		{"--backoff-n is of paper and paper-literal, not of cost", "demo --backoff-n 4"},
		{"--threshold is of paper and paper-literal, not of fast", "replay --data uniform --queries 1e-5 --scheme fast --threshold 0.8"},
		{"the rows say what they were measured with", "bench sim --check " + broken + " --insert"},
		{"the rows say what they were measured with", "bench sim --fit " + broken + " --threshold 0.8"},
	} {
		args := strings.Fields(c.args)
		fail(t, exitUsage, args, c.says, "--help' for usage.")
	}
}

// Scripts see the exit status of the process, not of a function.
func TestExitStatusOfProcess(t *testing.T) {
	for args, want := range map[string]int{
		"version":  exitOK,
		"nonsense": exitUsage,
		"status --server 127.0.0.1:1 --dial-timeout 200ms": exitFailure,
	} {
		p := start(t, strings.Fields(args)...)
		if _, code := p.wait(t); code != want {
			t.Errorf("catfish %s: exit %d, want %d", args, code, want)
		}
	}
}

func TestCompletion(t *testing.T) {
	for args, wants := range map[string][]string{
		"search --policy ":        {"offload-single\t", "paper-literal\t", "tcp\t"},
		"search --transport s":    {"shm", "soft"},
		"bench run --scheme tcp,": {"tcp,paper", "tcp,fast-polling"},
		"bench run --dataset ":    {"rea02-like", ":0"},
		"bench paper --figure ":   {"all", "14"},
		"bench paper --network h": {"host"},
		"serve --transport shm,":  {"shm,soft"},
		"serve --format ":         {"geojson", "rea02"},
		"serve --strategy ":       {"original", "revised"},
		"search --predictor ":     {"latest", "linear"},
		"gen ":                    {"skewed", ":0"}, // and files
		"check ":                  {"uniform", ":0"},
		"serve --load ":           {"california", ":0"},
		"load --file ":            {"uniform", ":0"},
		"demo --dataset ":         {"uniform", ":0"},
		"completion ":             {"bash", "zsh", "fish"},
	} {
		words := strings.Split("__complete "+args, " ")
		out := succeed(t, words...)
		for _, w := range wants {
			if !strings.Contains(out, "\n"+w) && !strings.HasPrefix(out, w) {
				t.Errorf("%q does not offer %q:\n%s", args, w, out)
			}
		}
	}
}

func TestVersion(t *testing.T) {
	v := decode[map[string]any](t, succeed(t, "version", "--json"))
	for _, key := range []string{"version", "commit", "go", "platform"} {
		if text, _ := v[key].(string); text == "" {
			t.Errorf("no %s in %v", key, v)
		}
	}
	for _, how := range []string{"version", "--version"} {
		if text := succeed(t, how); !strings.Contains(text, v["version"].(string)) {
			t.Errorf("%s: %q lacks %q", how, text, v["version"])
		}
	}
	// The two builds have the same name wherever they are installed.
	with := map[bool]string{true: "with ofi (RDMA by libfabric)", false: "without ofi"}[ofi.Built]
	text := succeed(t, "version")
	if v["ofi"] != ofi.Built || !strings.Contains(text, with) ||
		!strings.Contains(text, fmt.Sprintf("protocol %v, tree layout %v", v["protocol"], v["layout"])) ||
		v["protocol"] != float64(catfish.ProtocolVersion) {
		t.Errorf("%v, %q", v, text)
	}
}

// The hint for a missing permission on the socket does not suggest to start a server.
func TestHintPermission(t *testing.T) {
	h := hint(fmt.Errorf("%w: %w", catfish.ErrNoServer, syscall.EACCES))
	if !strings.Contains(h, "--socket-mode") || strings.Contains(h, "Start one") {
		t.Errorf("hint %q", h)
	}
}

func TestGen(t *testing.T) {
	dir := t.TempDir()
	csv := filepath.Join(dir, "u.csv")
	succeed(t, "gen", "uniform", "--objects", "100", "--seed", "7", "--out", csv)
	text, err := os.ReadFile(csv)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(text), "id,minx,miny,maxx,maxy\n0,") ||
		strings.Count(string(text), "\n") != 101 {
		t.Errorf("CSV begins %.60q", text)
	}
	if again := succeed(t, "gen", "uniform", "--objects", "100", "--seed", "7"); again != string(text) {
		t.Error("standard output got something else than the file")
	}
	// Through both encodings of rea02 and back nothing changes.
	for _, format := range []string{"rea02", "rec"} {
		bin := filepath.Join(dir, "u."+format)
		succeed(t, "gen", csv, "--as", format, "--out", bin)
		if info, err := os.Stat(bin); err != nil || info.Size() != 3200 {
			t.Errorf("%s: %v, %v", format, info, err)
		}
		if back := succeed(t, "gen", bin, "--format", format); back != string(text) {
			t.Errorf("%s is not read back as it was written", format)
		}
	}
	// A failure leaves the old file and no litter.
	bad := file(t, "bad.csv", "id,minx,miny,maxx,maxy\n1,0,0,1,1\n2,0,0,zero,1\n")
	fail(t, exitFailure, []string{"gen", bad, "--out", csv}, "line 3", "zero")
	if now, err := os.ReadFile(csv); err != nil || string(now) != string(text) {
		t.Errorf("the old file was changed (%v)", err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 3 {
		t.Errorf("%d files in the directory, want 3", len(entries))
	}
	fail(t, exitFailure, []string{"gen", "uniform", "--out", dir + "/no/where.csv"}, "no/where.csv")
}
