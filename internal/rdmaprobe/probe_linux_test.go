package rdmaprobe

import (
	"path/filepath"
	"testing"

	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/rdma/shm"
)

func TestSHM(t *testing.T) {
	cfg := config(func() (rdma.Device, error) { return shm.Open(shm.Options{}) })
	cfg.Addr = filepath.Join(t.TempDir(), "s")
	testAll(t, cfg, "shm")
}
