package client

import (
	"errors"
	"fmt"
	"sync"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/rdma/shm"
	"github.com/catfish-index/catfish/internal/wire"
)

// devices are what a client uses of its Shared's devices, one for each transport
// and server. They outlive sessions: the next session uses the same registered memory.
// A client with fault injection has devices of its own.
type devices struct {
	shared *sharedDevices

	mu     sync.Mutex
	open   map[deviceKey]deviceUse
	closed bool
}

// deviceUse is a client's use of a device.
type deviceUse struct {
	dev   rdma.Device
	close func() error
}

// deviceKey is common to the users of a device. The server is part of it: memory that
// one server may write to must not be within another's reach.
type deviceKey struct {
	transport, server string
	at                model.Fabric
	uid               int64 // the server's user, which shm trusts; -1: unknown
}

func (s *session) deviceKey() deviceKey {
	k := deviceKey{s.transport, s.server, s.fabric, -1}
	if s.hello.UID != nil {
		k.uid = int64(*s.hello.UID)
	}
	return k
}

// get opens a device at the first call. wrap is for fault injection.
func (d *devices) get(k deviceKey, wrap func(rdma.Device) rdma.Device) (rdma.Device, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, model.ErrClosed
	}
	if o, ok := d.open[k]; ok {
		return o.dev, nil
	}
	var o deviceUse
	var err error
	if wrap == nil {
		o, err = d.shared.get(k)
	} else if o.dev, err = k.open(); err == nil {
		o.dev = wrap(o.dev)
		o.close = o.dev.Close
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", model.ErrTransport, k.transport, err)
	}
	if d.open == nil {
		d.open = map[deviceKey]deviceUse{}
	}
	d.open[k] = o
	return o.dev, nil
}

// close gives all devices back. The client may not use them any more.
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
	return wire.OpenDevice(k.transport, wire.DeviceOptions{Fabric: k.at, Shm: shm.Options{CheckPeer: trust.check}})
}

// sharedDevices are those of a Shared: a process needs the parts of a transport, such as
// a table of regions, a protection domain or a goroutine that watches for dead peers,
// once. The zero value is empty.
type sharedDevices struct {
	mu sync.Mutex
	of map[deviceKey]*usedDevice
}

type usedDevice struct {
	open  func() (rdma.Device, error) // called once; other callers wait
	users int
}

// get opens a device at the first call. The close of its last user closes it.
func (s *sharedDevices) get(k deviceKey) (o deviceUse, err error) {
	u := s.use(k)
	if o.dev, err = u.open(); err != nil {
		s.leave(k, u)
		return o, err
	}
	o.close = sync.OnceValue(func() error {
		if s.leave(k, u) {
			return o.dev.Close()
		}
		return nil
	})
	return o, nil
}

func (s *sharedDevices) use(k deviceKey) *usedDevice {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.of[k]
	if u == nil {
		if s.of == nil {
			s.of = map[deviceKey]*usedDevice{}
		}
		u = &usedDevice{open: sync.OnceValues(k.open)}
		s.of[k] = u
	}
	u.users++
	return u
}

// leave reports whether u had no other user.
func (s *sharedDevices) leave(k deviceKey, u *usedDevice) (last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u.users--; u.users == 0 {
		delete(s.of, k)
	}
	return u.users == 0
}
