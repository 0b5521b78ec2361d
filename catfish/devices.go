package catfish

import (
	"errors"
	"fmt"
	"sync"

	"github.com/catfish-index/catfish/rdma"
	"github.com/catfish-index/catfish/rdma/shm"
)

// devices owns the devices of a client, one for each transport. They outlive
// sessions: what was registered serves the next one, too.
type devices struct {
	mu     sync.Mutex
	open   map[string]rdma.Device // by transport
	closed bool

	trust socketTrust
}

// get opens a transport's device at first. wrap is for fault injection.
func (d *devices) get(transport string, at Fabric, wrap func(rdma.Device) rdma.Device) (rdma.Device, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, ErrClosed
	}
	if dev := d.open[transport]; dev != nil {
		return dev, nil
	}
	dev, err := openDevice(transport, nil, shm.Options{CheckPeer: d.trust.check}, at, 0, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrTransport, transport, err)
	}
	if wrap != nil {
		dev = wrap(dev)
	}
	if d.open == nil {
		d.open = map[string]rdma.Device{}
	}
	d.open[transport] = dev
	return dev, nil
}

// close closes all of them. Nothing may use them any more.
func (d *devices) close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var err error
	for _, dev := range d.open {
		err = errors.Join(err, dev.Close())
	}
	d.open, d.closed = nil, true
	return err
}
