package catfish

import (
	"errors"
	"fmt"
	"sync"

	"github.com/catfish-index/catfish/rdma"
	"github.com/catfish-index/catfish/rdma/shm"
)

// devices are what a client uses of its Shared's devices, one for each
// transport and server. They outlive sessions: what was registered serves the
// next one, too. A client with fault injection has its own.
type devices struct {
	shared *sharedDevices

	mu     sync.Mutex
	open   map[deviceKey]openDeviceOf
	closed bool
}

type openDeviceOf struct {
	dev   rdma.Device
	close func() error
}

// deviceKey is what the users of a device have in common. The server is part of
// it: what one server is allowed to write to is not within another's reach.
type deviceKey struct {
	transport, server string
	at                Fabric
	uid               int64 // the server's user, which shm trusts; -1: unknown
}

func keyOf(server string, ch *session) deviceKey {
	k := deviceKey{ch.transport, server, ch.fabric, -1}
	if ch.hello.UID != nil {
		k.uid = int64(*ch.hello.UID)
	}
	return k
}

// get opens a device at first. wrap is for fault injection.
func (d *devices) get(k deviceKey, wrap func(rdma.Device) rdma.Device) (rdma.Device, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, ErrClosed
	}
	if o, ok := d.open[k]; ok {
		return o.dev, nil
	}
	var o openDeviceOf
	var err error
	if wrap == nil {
		o, err = d.shared.get(k)
	} else if o.dev, err = k.open(); err == nil {
		o.dev = wrap(o.dev)
		o.close = o.dev.Close
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrTransport, k.transport, err)
	}
	if d.open == nil {
		d.open = map[deviceKey]openDeviceOf{}
	}
	d.open[k] = o
	return o.dev, nil
}

// close gives all of them back. The client may not use them any more.
func (d *devices) close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var err error
	for _, o := range d.open {
		err = errors.Join(err, o.close())
	}
	d.open, d.closed = nil, true
	return err
}

func (k deviceKey) open() (rdma.Device, error) {
	var trust socketTrust
	if k.uid >= 0 {
		uid := uint32(k.uid)
		trust.server.Store(&uid)
	}
	return openDevice(k.transport, nil, shm.Options{CheckPeer: trust.check}, k.at, 0, nil)
}

// sharedDevices are those of a Shared: what a process needs for a transport, as
// a table of regions, a protection domain or a goroutine that watches for dead
// peers, it needs once. The zero value is empty.
type sharedDevices struct {
	mu sync.Mutex
	of map[deviceKey]*usedDevice
}

type usedDevice struct {
	dev   rdma.Device
	users int
}

// get opens a device at first, and its last user's close closes it.
func (s *sharedDevices) get(k deviceKey) (o openDeviceOf, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.of[k]
	if u == nil {
		dev, err := k.open()
		if err != nil {
			return o, err
		}
		if s.of == nil {
			s.of = map[deviceKey]*usedDevice{}
		}
		u = &usedDevice{dev: dev}
		s.of[k] = u
	}
	u.users++
	return openDeviceOf{u.dev, sync.OnceValue(func() error {
		s.mu.Lock()
		u.users--
		last := u.users == 0
		if last {
			delete(s.of, k)
		}
		s.mu.Unlock()
		if last {
			return u.dev.Close()
		}
		return nil
	})}, nil
}
