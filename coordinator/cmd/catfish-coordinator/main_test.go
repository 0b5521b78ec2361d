package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
)

// The command prints one line once it is ready, and ends without an error at a signal.
func TestReadyLine(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, w := io.Pipe()
	var errOut bytes.Buffer
	ended := make(chan int)
	go func() {
		ended <- run(ctx, []string{"coordinator", "--data-dir", t.TempDir(), "--listen", "127.0.0.1:0", "--rebalance"}, w, &errOut)
	}()
	line := make([]byte, 64)
	n, err := r.Read(line)
	if err != nil || !strings.HasPrefix(string(line[:n]), "ready coordinator=127.0.0.1:") {
		t.Fatalf("%q, %v; %s", line[:n], err, &errOut)
	}
	cancel()
	if code := <-ended; code != 0 {
		t.Fatalf("exit status %d: %s", code, &errOut)
	}
}

func TestUsageErrors(t *testing.T) {
	for _, args := range [][]string{
		{"coordinator"},
		{"coordinator", "--data-dir", t.TempDir(), "--listen", "nowhere"},
		{"coordinator", "--unknown"},
		{"coordinator", "--data-dir", t.TempDir(), "--rebalance=count"},
		{"coordinator", "--data-dir", t.TempDir(), "--rebalance", "--rebalance-slots", "0"},
		{"coordinator", "--data-dir", t.TempDir(), "--rebalance", "--rebalance-every", "1ms"},
		{"coordinator", "--data-dir", t.TempDir(), "--rebalance", "--rebalance-tolerance", "0"},
	} {
		var out, errOut bytes.Buffer
		if code := run(t.Context(), args, &out, &errOut); code != exitUsage || !strings.Contains(errOut.String(), "--help") {
			t.Errorf("%q: exit status %d, %q", args, code, &errOut)
		}
	}
}

// The command takes the arguments by which the chart starts it.
func TestHelmArguments(t *testing.T) {
	text, err := os.ReadFile("../../../deploy/helm/rendered/group.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "- coordinator\n")
	list, _, found := strings.Cut(rest, "env:")
	var args []string
	for line := range strings.Lines(list) {
		if arg := strings.TrimPrefix(strings.TrimSpace(line), "- "); arg != "" {
			args = append(args, arg)
		}
	}
	if !found || len(args) < 8 {
		t.Fatalf("arguments %q", args)
	}
	c := newCoordinator(io.Discard)
	if err := c.ParseFlags(args); err != nil || c.Flags().NArg() > 0 {
		t.Fatalf("%q: %v, %d that are no flags", args, err, c.Flags().NArg())
	}
	members, err := c.Flags().GetStringSlice("members")
	if err != nil || len(members) != 3 {
		t.Errorf("members %q, %v", members, err)
	}
	for i, m := range members {
		if want := fmt.Sprintf("places-catfish-coordinator-%d=places-catfish-coordinator-%[1]d.places-catfish-coordinator.geo.svc:7121", i); m != want {
			t.Errorf("member %q, want %q", m, want)
		}
	}
}
