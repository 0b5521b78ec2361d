//go:build !linux

package shm

import (
	"fmt"
	"runtime"

	"github.com/catfish-index/catfish/internal/rdma"
)

// Open needs Linux: elsewhere it returns an error that wraps
// ErrUnsupported.
func Open(o Options) (rdma.Device, error) {
	if err := o.fill(); err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("%w, this is %s: use transport soft", ErrUnsupported, runtime.GOOS)
}

// MaxConnections needs Linux: elsewhere there are none.
func MaxConnections() int64 { return connectionsWithin(0, 0) }
