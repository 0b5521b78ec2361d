package shm

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/rdma/rdmatest"
)

func TestMain(m *testing.M) {
	rdmatest.Child(func(string) (rdma.Device, error) { return Open(Options{}) })
	if path := os.Getenv(childEnv); path != "" {
		if err := childMain(path); err != nil {
			fmt.Fprintln(os.Stderr, "child:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func openDevice(t testing.TB) rdma.Device {
	t.Helper()
	d, err := Open(Options{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func socketPath(t testing.TB) string {
	return filepath.Join(t.TempDir(), "s")
}

func TestConformance(t *testing.T) {
	rdmatest.Run(t, rdmatest.Config{Open: openDevice, Addr: socketPath})
}
