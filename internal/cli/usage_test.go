package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/cli/clitest"
	"github.com/catfish-index/catfish/internal/rdma/ofi"
)

// Every command explains itself with an example.
func TestHelp(t *testing.T) {
	var walk func(c *cobra.Command, path []string)
	walk = func(c *cobra.Command, path []string) {
		for _, sub := range c.Commands() {
			if sub.Name() == "help" || sub.Name() == "completion" || sub.Hidden || sub.DisableFlagParsing {
				continue
			}
			walk(sub, append(path[:len(path):len(path)], sub.Name()))
		}
		if !strings.Contains(c.Example, "catfish ") {
			t.Errorf("%v has no example", path)
		}
		out := clitest.Succeed(t, append(path, "--help")...)
		if !strings.Contains(out, c.Example) {
			t.Errorf("%v --help lacks its example:\n%s", path, out)
		}
	}
	walk(newRoot(&App{}), nil)
}

func TestBadUsage(t *testing.T) {
	const q = "0,0,1,1"
	broken := clitest.File(t, "broken", "")
	for _, c := range []struct {
		says string
		args string
	}{
		{`unknown command "serch"`, "serch"},
		{"did you mean serve or search", "serch"},
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
		{`--json is "2", want true or false`, "search --json=2"},
		{`--server "7119", want host or host:port`, "count --bbox " + q + " --server 7119"},
		{"with a port from 1 to 65535", "count --bbox " + q + " -s 127.0.0.1:0"},
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
		{`--worker-cpus: bad list of cores "1-0"`, "serve --worker-cpus 1-0"},
		{"--worker-cpus: core not available: 1023", "serve --listen 127.0.0.1:0 --worker-cpus 1023"},
		{"--worker-cpus 0 with --workers", "serve --worker-cpus 0 --workers 2"},
		{"--worker-cpus does nothing with --transport tcp", "serve --worker-cpus 0 --transport tcp"},
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
		{"--workers 2 with --worker-per-connection", "serve --workers 2 --worker-per-connection"},
		{"--record-writes and --record-force go with --record", "serve --record-writes"},
		{`--strategy is "best", want one of revised, original, original-doubles`, "serve --strategy best"},
		{"N is -1, want 1 to 1048576", "search --policy paper --backoff-n -1 --bbox " + q},
		{"--predictor is of paper and paper-literal, not of cost", "search --predictor mean --bbox " + q},
		{"--threshold is of paper and paper-literal, not of tcp", "count --transport tcp --threshold 0.8 --bbox " + q},
	} {
		args := strings.Fields(c.args)
		clitest.Fail(t, ExitUsage, args, c.says, "--help' for usage.")
	}
}

// Scripts see the exit status of the process, not of a function.
func TestExitStatusOfProcess(t *testing.T) {
	for args, want := range map[string]int{
		"version":  ExitOK,
		"nonsense": ExitUsage,
		"status --server 127.0.0.1:1 --dial-timeout 200ms": ExitFailure,
	} {
		p := clitest.Start(t, strings.Fields(args)...)
		if _, code := p.Wait(t); code != want {
			t.Errorf("catfish %s: exit %d, want %d", args, code, want)
		}
	}
}

func TestCompletion(t *testing.T) {
	for args, wants := range map[string][]string{
		"search --policy ":       {"offload-single\t", "paper-literal\t", "tcp\t"},
		"search --transport s":   {"shm", "soft"},
		"serve --transport shm,": {"shm,soft"},
		"serve --format ":        {"geojson", "rea02"},
		"serve --strategy ":      {"original", "revised"},
		"search --predictor ":    {"latest", "linear"},
		"gen ":                   {"skewed", ":0"}, // and files
		"check ":                 {"uniform", ":0"},
		"serve --load ":          {"california", ":0"},
		"load --file ":           {"uniform", ":0"},
		"completion ":            {"bash", "zsh", "fish"},
	} {
		words := strings.Split("__complete "+args, " ")
		out := clitest.Succeed(t, words...)
		for _, w := range wants {
			if !strings.Contains(out, "\n"+w) && !strings.HasPrefix(out, w) {
				t.Errorf("%q does not offer %q:\n%s", args, w, out)
			}
		}
	}
}

func TestVersion(t *testing.T) {
	v := clitest.Decode[map[string]any](t, clitest.Succeed(t, "version", "--json"))
	for _, key := range []string{"version", "commit", "go", "platform"} {
		if text, _ := v[key].(string); text == "" {
			t.Errorf("no %s in %v", key, v)
		}
	}
	for _, how := range []string{"version", "--version"} {
		if text := clitest.Succeed(t, how); !strings.Contains(text, v["version"].(string)) {
			t.Errorf("%s: %q lacks %q", how, text, v["version"])
		}
	}
	// The two builds have the same name wherever they are installed.
	with := map[bool]string{true: "with ofi (RDMA by libfabric)", false: "without ofi"}[ofi.Built]
	text := clitest.Succeed(t, "version")
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
	clitest.Succeed(t, "gen", "uniform", "--objects", "100", "--seed", "7", "--out", csv)
	text, err := os.ReadFile(csv)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(text), "id,minx,miny,maxx,maxy\n0,") ||
		strings.Count(string(text), "\n") != 101 {
		t.Errorf("CSV begins %.60q", text)
	}
	if again := clitest.Succeed(t, "gen", "uniform", "--objects", "100", "--seed", "7"); again != string(text) {
		t.Error("standard output got something else than the file")
	}
	// Through both encodings of rea02 and back nothing changes.
	for _, format := range []string{"rea02", "rec"} {
		bin := filepath.Join(dir, "u."+format)
		clitest.Succeed(t, "gen", csv, "--as", format, "--out", bin)
		if info, err := os.Stat(bin); err != nil || info.Size() != 3200 {
			t.Errorf("%s: %v, %v", format, info, err)
		}
		if back := clitest.Succeed(t, "gen", bin, "--format", format); back != string(text) {
			t.Errorf("%s is not read back as it was written", format)
		}
	}
	// A failure leaves the old file and no litter.
	bad := clitest.File(t, "bad.csv", "id,minx,miny,maxx,maxy\n1,0,0,1,1\n2,0,0,zero,1\n")
	clitest.Fail(t, ExitFailure, []string{"gen", bad, "--out", csv}, "line 3", "zero")
	if now, err := os.ReadFile(csv); err != nil || string(now) != string(text) {
		t.Errorf("the old file was changed (%v)", err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 3 {
		t.Errorf("%d files in the directory, want 3", len(entries))
	}
	clitest.Fail(t, ExitFailure, []string{"gen", "uniform", "--out", dir + "/no/where.csv"}, "no/where.csv")
}
