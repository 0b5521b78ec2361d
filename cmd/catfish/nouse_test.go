package main

import (
	"strings"
	"testing"
)

// A flag that would do nothing is refused, before the program opens, starts or
// connects to anything.
func TestNoUse(t *testing.T) {
	csv, _ := sample(t)
	const (
		osm   = "../../datasets/testdata/andorra.osm.pbf"
		query = "--bbox 0,0,1,1"
		any0  = "serve --listen 127.0.0.1:0 "
	)
	for args, says := range map[string]string{
		"search " + query + " --policy tcp --transport shm":                "--transport shm with --policy tcp",
		"search " + query + " --policy tcp --fabric-device x":              "--fabric-device does nothing with --policy tcp",
		"count " + query + " --transport shm --fabric-addr x":              "--fabric-addr does nothing with --transport shm",
		"insert --id 1 " + query + " --transport soft --fabric-provider x": "--fabric-provider does nothing with --transport soft",
		"search " + query + " --policy fast --cache-bytes 65536":           "--cache-bytes does nothing with --policy fast",
		"nearest --point 1,1 --transport tcp --trust-cache":                "--trust-cache does nothing with --policy tcp",
		"search " + query + " --policy paper --trust-cache":                "--trust-cache does nothing without a cache",
		"search " + query + " --cache-bytes -1 --trust-cache":              "--trust-cache does nothing without a cache",
		"insert --id 1 " + query + " --cache-bytes 65536":                  "unknown flag: --cache-bytes",
		"load --file uniform --threshold 0.8":                              "unknown flag: --threshold",

		any0 + "--collection a,b,a":                                             "--collection lists a twice",
		any0 + "--transport shm,soft,shm":                                       "--transport lists shm twice",
		any0 + "--seed 1":                                                       "--seed does nothing without --load",
		any0 + "--read-memory 5":                                                "--read-memory does nothing without --load",
		any0 + "--transport soft --socket /x":                                   "--socket does nothing with --transport soft",
		any0 + "--transport tcp --polling":                                      "--polling does nothing with --transport tcp",
		any0 + "--transport shm,soft --fabric-device x":                         "--fabric-device does nothing with --transport shm,soft",
		any0 + "--seed 1 --load " + csv:                                         "--seed does nothing without a generator",
		any0 + "--highways --load uniform":                                      "--highways does nothing without an OpenStreetMap file",
		any0 + "--osm nodes --highways --load " + osm:                           "--highways does nothing with --osm nodes",
		any0 + "--read-memory 5 --load " + csv:                                  "--read-memory does nothing without an OpenStreetMap, GeoJSON",
		"gen uniform --osm ways":                                                "--osm does nothing without an OpenStreetMap file",
		"load --seed 3 --file " + csv:                                           "--seed does nothing without a generator",
		"check --seed 3":                                                        "--seed does nothing without files",
		"check --slab-bytes 1000000":                                            "--slab-bytes does nothing without files",
		"check uniform --server x":                                              "--server does nothing with files",
		"check uniform --policy fast":                                           "--policy does nothing with files",
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
		fail(t, exitUsage, strings.Fields(args), says, "--help' for usage.")
	}
}

func TestPrintCluster(t *testing.T) {
	text := succeed(t, "bench", "sim", "--print-cluster", "modern")
	if !strings.Contains(text, "[server]") || !strings.Contains(text, "# ") {
		t.Errorf("printed %.100q", text)
	}
	mine := file(t, "mine.toml", text)
	out := succeed(t, "bench", "sim", "--cluster", mine, "--scheme", "fast", "--clients", "2",
		"--objects", "1000", "--duration", "1ms", "--warmup", "0s")
	if !strings.Contains(out, "cluster mine") {
		t.Errorf("simulated %s", out)
	}
	fail(t, exitUsage, strings.Fields("bench sim --print-cluster moon"), "want one of connectx3, modern, paper, thismachine")
}
