//go:build !ofi

package ofi

import "github.com/catfish-index/catfish/internal/rdma"

// Built reports whether libfabric is in this binary.
const Built = false

// Open fails: see ErrNotBuilt.
func Open(Options) (rdma.Device, error) { return nil, ErrNotBuilt }

// Discover fails: see ErrNotBuilt.
func Discover() ([]Fabric, error) { return nil, ErrNotBuilt }
