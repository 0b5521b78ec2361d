package main

import (
	"strings"
	"testing"

	"github.com/catfish-index/catfish/bench/kv"
	"github.com/catfish-index/catfish/datasets/ycsb"
)

// TestBenchKVFlags: what is typed is what is measured, and nonsense is refused
// before anything starts.
func TestBenchKVFlags(t *testing.T) {
	f := benchKVFlags{
		mix: "D", keys: 10, valueBytes: 64, seed: 3,
		cfg: kv.Config{
			Schemes: []string{"fast"}, Clients: 1, InFlight: 2, Procs: 1, Batch: 4, Duration: 1e9, Repeat: 2, Transport: "shm",
		},
	}
	cfg, err := f.config()
	if w := cfg.Workload; err != nil || w.Mix != ycsb.MixD || w.Dist != ycsb.Latest || w.Theta != ycsb.Theta ||
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
		"--in-flight is empty or 0":    "--in-flight 0",
		"client-procs is 9":            "--client-procs 9",
		"unknown scheme \"quick\"":     "--scheme quick",
		"listed twice":                 "--scheme fast,fast",
		"--transport \"pigeon\"":       "--transport pigeon",
		"cannot run on transport":      "--transport tcp --scheme fast",
		"--server-cpus: bad list":      "--server-cpus x",
		"--duration is empty or 0":     "--duration 0s",
		"repeat is -1":                 "--repeat -1",
		"--fabric-device does nothing": "--transport shm --fabric-device x",
	} {
		fail(t, exitUsage, append([]string{"bench", "kv"}, strings.Fields(args)...), says, "--help' for usage.")
	}
}
