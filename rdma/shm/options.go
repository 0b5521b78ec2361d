package shm

import (
	"errors"
	"fmt"
	"os"
	"time"
)

// Options configure a device. The zero value works.
type Options struct {
	// SocketMode is the file mode of a Listener's socket and determines who
	// may connect: write permission on the socket is the permission. 0 means
	// 0600, this user only.
	SocketMode os.FileMode
	// SpinMax bounds the spinning of one Wait before it sleeps. 0 means
	// spin.WakeCost, negative means none.
	SpinMax time.Duration
}

// ErrUnsupported is Open's error on systems other than Linux.
var ErrUnsupported = errors.New("shm: needs Linux (memfd, seals)")

// ErrVersion means that the other side speaks another protocol version. It is
// wrapped together with rdma.ErrDial.
var ErrVersion = errors.New("shm: protocol versions differ")

func (o *Options) fill() error {
	if o.SocketMode == 0 {
		o.SocketMode = 0o600
	}
	if o.SocketMode&^os.ModePerm != 0 {
		return fmt.Errorf("shm: SocketMode %v: only permission bits are allowed", o.SocketMode)
	}
	return nil
}
