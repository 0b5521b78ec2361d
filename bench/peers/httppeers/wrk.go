//go:build linux

package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// wrkScript sends the requests of a file in order, and prints a line of JSON.
//
//go:embed requests.lua
var wrkScript []byte

// sample is a measurement of wrk.
type sample struct {
	Requests   int64   `json:"requests"`
	DurationUs float64 `json:"duration_us"`
	Bytes      int64   `json:"bytes"` // with headers
	P50Us      float64 `json:"p50_us"`
	P99Us      float64 `json:"p99_us"`
	// Requests that failed: connections, reading, writing, a status of 400 or
	// more, and timeouts.
	Connect int64 `json:"connect"`
	Read    int64 `json:"read"`
	Write   int64 `json:"write"`
	Status  int64 `json:"status"`
	Timeout int64 `json:"timeout"`
}

// errFailed is wrapped when requests failed.
var errFailed = errors.New("requests failed")

// requestTimeout is the time after which wrk counts a request as failed.
const requestTimeout = 30 * time.Second

// load makes wrk request the paths from an address, in order and repeatedly,
// with one thread.
func load(ctx context.Context, cfg *config, dir, addr string, paths []string, d time.Duration) (s sample, err error) {
	script, list := filepath.Join(dir, "requests.lua"), filepath.Join(dir, "paths")
	if err := os.WriteFile(script, wrkScript, 0o600); err != nil {
		return s, err
	}
	if err := os.WriteFile(list, []byte(strings.Join(paths, "\n")+"\n"), 0o600); err != nil {
		return s, err
	}
	args := []string{
		"wrk", "-t", "1", "-c", strconv.Itoa(cfg.connections), "-d", fmt.Sprintf("%.0fs", max(1, d.Seconds())),
		"--timeout", fmt.Sprintf("%.0fs", requestTimeout.Seconds()), "--latency", "-s", script, "http://" + addr, "--", list,
	}
	if cfg.loadCPUs != "" {
		args = append([]string{"taskset", "-c", cfg.loadCPUs}, args...)
	}
	out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput()
	if err != nil {
		return s, fmt.Errorf("%w: %w: %s", errFailed, err, bytes.TrimSpace(out))
	}
	return parseSample(out)
}

// parseSample finds the script's line in wrk's output.
func parseSample(out []byte) (s sample, err error) {
	_, line, ok := bytes.Cut(out, []byte("\nresult "))
	if !ok {
		return s, fmt.Errorf("wrk printed no result: %.1000q", out)
	}
	line, _, _ = bytes.Cut(line, []byte("\n"))
	if err := json.Unmarshal(line, &s); err != nil {
		return s, fmt.Errorf("wrk printed %.1000q: %w", line, err)
	}
	if s.Connect+s.Read+s.Write+s.Status+s.Timeout > 0 || s.Requests == 0 {
		return s, fmt.Errorf("%w: %s", errFailed, line)
	}
	return s, nil
}
