//go:build !ofi

package readtest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/rdma/shm"
	"github.com/catfish-index/catfish/internal/rdma/soft"
)

// overEnv names the transport: shm, which is the default, or soft.
const overEnv = "CATFISH_READTEST_OVER"

func over() string {
	if t := os.Getenv(overEnv); t != "" {
		return t
	}
	return "shm"
}

func openDevice() (rdma.Device, error) {
	switch t := over(); t {
	case "shm":
		return shm.Open(shm.Options{})
	case "soft":
		return soft.Open(soft.Options{})
	default:
		return nil, fmt.Errorf("readtest: %s=%s, want shm or soft; ofi is of builds with that tag", overEnv, t)
	}
}

func address(tb testing.TB) string {
	if over() == "shm" {
		return filepath.Join(tb.TempDir(), "s")
	}
	return "127.0.0.1:0"
}
