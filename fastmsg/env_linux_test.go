package fastmsg

import (
	"path/filepath"
	"testing"

	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/rdma/shm"
)

func init() {
	providers = append(providers, provider{
		name: "shm",
		open: func(t testing.TB) rdma.Device {
			dev, err := shm.Open(shm.Options{})
			return opened(t, dev, err)
		},
		addr: func(t testing.TB) string { return filepath.Join(t.TempDir(), "sock") },
	})
}
