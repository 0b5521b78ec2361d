package server

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/catfish/client"
	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/affinity"
)

// threadsOn counts this process's threads that only one core may run.
func threadsOn(t *testing.T, core string) (n int) {
	t.Helper()
	all, err := filepath.Glob("/proc/self/task/*/status")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range all {
		status, err := os.ReadFile(name) // It may have ended.
		if err == nil && strings.Contains(string(status), "Cpus_allowed_list:\t"+core+"\n") {
			n++
		}
	}
	return n
}

// Each worker runs on the core that the options name, serves, and gives its thread back.
func TestWorkerCPUs(t *testing.T) {
	avail, err := affinity.Available()
	if err != nil {
		t.Fatal(err)
	}
	core := avail[len(avail)-1:]
	before := threadsOn(t, core.String())
	s, err := NewServer(Options{WorkerCPUs: core, Transports: oneSided[:1], SlabBytes: 16 << 20, SocketPath: t.TempDir() + "/s",
		Logger: quiet(), Fabric: testFabric})
	if err != nil {
		t.Fatal(err)
	}
	if s.Workers() != 1 {
		t.Errorf("%d workers, want 1", s.Workers())
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(context.Background()) }()
	c := dial(t, s, client.Options{Transport: oneSided[0], Policy: "fast", Logger: quiet()})
	if _, err := c.Search(t.Context(), square(0, 0)); err != nil {
		t.Error(err)
	}
	if len(avail) > 1 { // Else all threads are on it.
		if n := threadsOn(t, core.String()) - before; n != 1 {
			t.Errorf("%d threads on core %s while a worker runs there, want 1", n, core)
		}
	}
	c.Close()
	s.Close()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if len(avail) > 1 {
		eventually(t, "the thread has ended", func() bool { return threadsOn(t, core.String()) == before })
	}
	if now, err := affinity.Available(); err != nil || now.String() != avail.String() {
		t.Errorf("the process may use %v, before %v: %v", now, avail, err)
	}
}

func TestWorkerCPUsErrors(t *testing.T) {
	for says, o := range map[string]Options{
		"WorkerCPUs: core not available: 1023":                {WorkerCPUs: []int{1023}},
		"WorkerCPUs lists core 0 twice":                       {WorkerCPUs: []int{0, 0}},
		"WorkerCPUs has 1 cores for 2 workers":                {WorkerCPUs: []int{0}, Workers: 2},
		"1 workers and a worker per connection, want one of ": {WorkerCPUs: []int{0}, WorkerPerConnection: true},
	} {
		o.Logger = quiet()
		s, err := NewServer(o)
		if !errors.Is(err, model.ErrOption) || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
		if err == nil {
			s.Close()
		}
	}
}
