//go:build !linux

package server

import (
	"io/fs"
	"net"

	"github.com/catfish-index/catfish/internal/rdma/shm"
)

func defaultSocket(net.Addr, fs.FileMode) (string, error) { return "", shm.ErrUnsupported }
