package main

import (
	"strings"
	"testing"

	"github.com/catfish-index/catfish/internal/cli"
	"github.com/catfish-index/catfish/internal/cli/clitest"
)

func TestBadUsage(t *testing.T) {
	broken := clitest.File(t, "broken", "")
	for _, c := range []struct {
		says string
		args string
	}{
		{`unknown command "walk" for "catfish bench"`, "bench walk"},
		{`--duration is "5", want a duration such as 500ms or 5s`, "demo --duration 5"},
		{`unknown policy "fst", want one of default, tcp`, "demo --policy fst"},
		{`transport "rdma", want one of auto, shm, soft`, "demo --transport rdma"},
		{"server-cpus: core not available: 1023", "demo --server-cpus 1023"},
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
		{"are five things, want one", "bench sim --table --fit paper"},
		{"are five things, want one", "bench sim --figure 9 --check rows"},
		{"no rows", "bench sim --fit " + broken},
		{"no rows", "bench sim --check " + broken},
		{"--json with --fit", "bench sim --fit paper --json -"},
		{`--strategy is "best", want one of revised, original, original-doubles`, "bench run --strategy best"},
		{`--strategy is "best", want one of revised, original, original-doubles`, "bench sim --strategy best"},
		{"--strategy is of a server that replay starts", "replay -s 127.0.0.1:1 --queries x --strategy original"},
		{"T is 95, want more than 0, at most 1", "bench run --threshold 95"},
		{"T is 95, want more than 0, at most 1", "bench paper --threshold 95"},
		{`--threshold is "high", want a number`, "bench step --threshold high"},
		{"--threshold is empty or 0", "bench sim --threshold 0"},
		{"--backoff-n is empty or 0", "bench step --backoff-n 0"},
		{`predictor "best", want one of latest, mean, linear`, "bench sim --predictor best"},
		{"--backoff-n is of paper and paper-literal, not of fast, cost", "bench run --scheme fast,cost --backoff-n 4"},
		{"--backoff-n is of paper and paper-literal, not of cost", "demo --backoff-n 4"},
		{"--threshold is of paper and paper-literal, not of fast", "replay --data uniform --queries 1e-5 --scheme fast --threshold 0.8"},
		{"the rows say what they were measured with", "bench sim --check " + broken + " --insert"},
		{"the rows say what they were measured with", "bench sim --fit " + broken + " --threshold 0.8"},
	} {
		args := strings.Fields(c.args)
		clitest.Fail(t, cli.ExitUsage, args, c.says, "--help' for usage.")
	}
}

func TestCompletion(t *testing.T) {
	for args, wants := range map[string][]string{
		"bench run --scheme tcp,": {"tcp,paper", "tcp,fast-polling"},
		"bench run --dataset ":    {"rea02-like", ":0"},
		"bench paper --figure ":   {"all", "14"},
		"bench paper --network h": {"host"},
		"demo --dataset ":         {"uniform", ":0"},
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

// A flag that would do nothing is refused, before the program opens, starts or
// connects to anything.
func TestNoUse(t *testing.T) {
	csv := clitest.File(t, "sample.csv", "id,minx,miny,maxx,maxy\n1,0,0,1,1\n")
	for args, says := range map[string]string{
		"bench run --dataset california --objects 5":                            "--objects does nothing with california",
		"bench step --dataset california --objects 5":                           "--objects does nothing with california",
		"bench sim --dataset california --objects 5":                            "--objects does nothing with california",
		"bench run --transport shm --fabric-device x":                           "--fabric-device does nothing with --transport shm",
		"bench run --scheme tcp --transport shm":                                "--transport does nothing with scheme tcp alone",
		"bench run --scheme tcp --worker-per-connection":                        "--worker-per-connection does nothing with scheme tcp alone",
		"bench run --inserts data":                                              "--inserts does nothing with --mix search=100",
		"bench run --mix insert=100 --batch 4":                                  "--batch does nothing with --mix insert=100",
		"bench paper --figure 10 --data uniform":                                "--data does nothing without figure 14",
		"bench sim --inserts data":                                              "--inserts does nothing with --mix search=100",
		"bench sim --first 3":                                                   "--first does nothing without --join-at",
		"bench sim --sample 10ms":                                               "--sample does nothing without --json or --plots",
		"bench sim --table --clients 5":                                         "--clients does nothing with --table",
		"bench sim --figure 9 --duration 1s":                                    "--duration does nothing with --figure",
		"bench sim --check rows --seed 1":                                       "--seed does nothing with --figure, --check",
		"bench sim --print-cluster paper --clients 5":                           "--clients does nothing with --print-cluster",
		"replay --data uniform --queries QR2 --query-count 5":                   "--query-count does nothing with --queries QR2",
		"replay --data california --queries QR2 --objects 5":                    "--objects does nothing with california",
		"replay --data california --queries QR2 --seed 5":                       "--seed does nothing without a generator or a scale",
		"replay -s x --queries q --dataset-format csv":                          "--dataset-format does nothing without --data",
		"replay -s x --queries q --no-load":                                     "no-load does nothing without data",
		"replay --data uniform --queries 1e-5 --force":                          "force is for data",
		"replay --data uniform --queries " + csv + " --recorded a":              "recorded is a, but",
		"replay --data uniform --queries 1e-5 --scheme tcp --transport shm":     "--transport does nothing with scheme tcp alone",
		"replay --data uniform --queries 1e-5 --transport soft --fabric-addr x": "--fabric-addr does nothing with --transport soft",
	} {
		clitest.Fail(t, cli.ExitUsage, strings.Fields(args), says, "--help' for usage.")
	}
}

func TestPrintCluster(t *testing.T) {
	text := clitest.Succeed(t, "bench", "sim", "--print-cluster", "modern")
	if !strings.Contains(text, "[server]") || !strings.Contains(text, "# ") {
		t.Errorf("printed %.100q", text)
	}
	mine := clitest.File(t, "mine.toml", text)
	out := clitest.Succeed(t, "bench", "sim", "--cluster", mine, "--scheme", "fast", "--clients", "2",
		"--objects", "1000", "--duration", "1ms", "--warmup", "0s")
	if !strings.Contains(out, "cluster mine") {
		t.Errorf("simulated %s", out)
	}
	clitest.Fail(t, cli.ExitUsage, strings.Fields("bench sim --print-cluster moon"), "want one of connectx3, modern, paper, thismachine")
}
