//go:build ofi

package ofi

/*
#cgo LDFLAGS: -lfabric
#include <stdlib.h>
#include "shim.h"
*/
import "C"

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"unsafe"

	"github.com/catfish-index/catfish/internal/rdma"
)

// Built reports whether libfabric is in this binary.
const Built = true

// device is an opened domain. See rdma.Device.
//
// Locks, outermost first: completionQueue.reading, queuePair.mu, then
// device.eqMu or a ring's own. device.mu is held for the maps alone.
type device struct {
	opt      Options
	at       Fabric
	features C.int
	inject   C.size_t
	maxBytes int  // of one request
	virtual  bool // remote addresses are virtual addresses
	provKeys bool // keys are the provider's choice

	info   *C.struct_fi_info
	fabric *C.struct_fid_fabric
	domain *C.struct_fid_domain

	// eqMu keeps an endpoint from being closed while an event that
	// points to it is read.
	eqMu   sync.Mutex
	eq     *C.struct_fid_eq
	events *watcher
	pep    *C.struct_fid_pep // opened by the first Listen
	pepAt  []byte            // its address

	// ctx ends with the device; Dials in progress depend on it.
	ctx    context.Context
	cancel context.CancelFunc

	mu         sync.RWMutex // read for each completion
	idle       sync.Cond    // on mu: no goroutine runs any more
	running    int          // goroutines and registrations
	closed     bool
	nextQP     uint32
	nextCQ     uint64
	qps        map[uint32]*queuePair
	cqs        map[*completionQueue]struct{}
	listeners  map[*listener]struct{}
	regions    map[*region]struct{}
	expected   map[uint64]chan *C.struct_fi_info // by token
	unmapLater []lateUnmap
}

// Open opens a fabric device. It has, beyond rdma.Device, the methods
// RegisterMemory (rdma.MemoryRegistrar) and Fabric() Fabric. Errors: ErrOptions, ErrNoDevice, ErrFabric.
func Open(o Options) (rdma.Device, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	info, at, err := find(o)
	if err != nil {
		return nil, err
	}
	d := &device{
		opt: o, at: at, info: info,
		qps:       make(map[uint32]*queuePair),
		cqs:       make(map[*completionQueue]struct{}),
		listeners: make(map[*listener]struct{}),
		regions:   make(map[*region]struct{}),
		expected:  make(map[uint64]chan *C.struct_fi_info),
	}
	d.idle.L = &d.mu
	if ret := C.cf_open(info, &d.fabric, &d.domain, &d.eq); ret != 0 {
		C.fi_freeinfo(info)
		return nil, failure("opening "+at.Provider+" "+at.Device, ret)
	}
	mode := info.domain_attr.mr_mode
	d.virtual = mode&C.FI_MR_VIRT_ADDR != 0
	d.provKeys = mode&C.FI_MR_PROV_KEY != 0
	d.inject = info.tx_attr.inject_size
	d.maxBytes = int(min(uint64(info.ep_attr.max_msg_size), orderOf(info).longest(), maxRegion))
	if (info.mode|info.rx_attr.mode)&C.FI_RX_CQ_DATA != 0 {
		d.features |= C.CF_DATA_RECV
	}
	if at.Provider == Verbs {
		d.features |= C.CF_IN_ORDER
	} else {
		d.features |= C.CF_ACKED
		d.inject = 0
	}
	d.ctx, d.cancel = context.WithCancel(context.Background())
	if err := d.watchEvents(); err != nil {
		d.closeHandles()
		return nil, err
	}
	return d, nil
}

// manual reports a provider that moves data only while it is called.
func (d *device) manual() bool { return d.at.Provider == TCP }

// Fabric is the device that was opened.
func (d *device) Fabric() Fabric { return d.at }

func (d *device) inOrder() bool { return d.features&C.CF_IN_ORDER != 0 }

func (d *device) Info() rdma.Info {
	i := rdma.Info{
		Provider: "ofi",
		Detail:   d.at.String(),
		MaxReads: d.at.MaxReads,
		Faults:   rdma.FaultsCoarse,
		// A CPU serves the reads; cards move whole lines.
		TornLines: d.at.Emulated,
		Pins:      true, // cards do; unknown for others
	}
	if !d.at.Emulated {
		i.Revoked = rdma.RevokedFinal
	}
	if d.at.Provider == TCP {
		i.Faults = rdma.FaultsNone
	}
	return i
}

// begin announces work that Close waits for. False: closed.
func (d *device) begin() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return false
	}
	d.running++
	return true
}

// end ends work that begin announced.
func (d *device) end() {
	d.mu.Lock()
	if d.running--; d.running == 0 {
		d.idle.Broadcast()
	}
	d.mu.Unlock()
}

// spawn runs f on a goroutine that Close waits for. False: closed.
func (d *device) spawn(f func()) bool {
	if !d.begin() {
		return false
	}
	go func() {
		defer d.end()
		f()
	}()
	return true
}

// Close ends everything made from the device.
func (d *device) Close() error {
	d.mu.Lock()
	if d.closed {
		for d.running > 0 {
			d.idle.Wait()
		}
		d.mu.Unlock()
		return nil
	}
	d.closed = true
	d.cancel()
	listeners, cqs := keys(d.listeners), keys(d.cqs)
	qps := make([]*queuePair, 0, len(d.qps))
	for _, q := range d.qps {
		qps = append(qps, q)
	}
	d.mu.Unlock()

	for _, l := range listeners {
		_ = l.Close()
	}
	for _, q := range qps {
		_ = q.Close()
	}
	for _, c := range cqs {
		_ = c.Close()
	}
	d.events.stop()
	d.mu.Lock()
	for d.running > 0 {
		d.idle.Wait()
	}
	regions := keys(d.regions)
	d.mu.Unlock()
	for _, c := range cqs {
		c.release()
	}
	for _, r := range regions {
		_ = r.Close()
	}
	d.sweep()
	d.closeHandles()
	return nil
}

// closeHandles closes the handles from cf_open, and the passive endpoint.
func (d *device) closeHandles() {
	if d.events != nil {
		d.events.stop()
	}
	if d.pep != nil {
		C.cf_close(&d.pep.fid)
	}
	C.cf_close(&d.eq.fid)
	C.cf_close(&d.domain.fid)
	C.cf_close(&d.fabric.fid)
	C.fi_freeinfo(d.info)
}

func keys[K comparable](m map[K]struct{}) []K {
	s := make([]K, 0, len(m))
	for k := range m {
		s = append(s, k)
	}
	return s
}

// failure makes an error of a negative fi_errno.
func failure(what string, ret C.int) error {
	return fmt.Errorf("%w: %s: %s (%d)", ErrFabric, what, C.GoString(C.fi_strerror(-ret)), int(ret))
}

// find picks the first device that fits o. The caller owns the info.
func find(o Options) (*C.struct_fi_info, Fabric, error) {
	prov := C.CString(o.Provider)
	defer C.free(unsafe.Pointer(prov))
	var device, node *C.char
	if o.Device != "" {
		device = C.CString(o.Device)
		defer C.free(unsafe.Pointer(device))
	}
	if o.Addr != "" {
		node = C.CString(o.Addr)
		defer C.free(unsafe.Pointer(node))
	}
	var ret C.int
	list := C.cf_getinfo(prov, device, node, &ret)
	if list == nil {
		return nil, Fabric{}, fmt.Errorf("%w: provider %q, device %q, address %q: %s (%d)%s", ErrNoDevice,
			o.Provider, o.Device, o.Addr, C.GoString(C.fi_strerror(-ret)), int(ret), available())
	}
	defer C.fi_freeinfo(list)
	var best *C.struct_fi_info
	for i := list; i != nil; i = i.next {
		at := describe(i)
		if o.Device != "" && at.Device != o.Device || at.Addr == "" {
			continue // tcp ignores the name; without an address nothing can connect
		}
		if o.Addr != "" && !isLocal(at.ip()) {
			continue // tcp takes any
		}
		if best == nil || o.Addr == "" && usable(i) && !usable(best) {
			best = i
		}
	}
	if best == nil {
		return nil, Fabric{}, fmt.Errorf("%w: provider %q, device %q, address %q%s", ErrNoDevice,
			o.Provider, o.Device, o.Addr, available())
	}
	at := describe(best)
	if err := orderOf(best).check(C.CF_ORDER); err != nil {
		return nil, Fabric{}, fmt.Errorf("%s %s: %w", at.Provider, at.Device, err)
	}
	return C.fi_dupinfo(best), at, nil
}

func orderOf(i *C.struct_fi_info) order {
	return order{
		tx: uint64(i.tx_attr.msg_order), rx: uint64(i.rx_attr.msg_order),
		raw: uint64(i.ep_attr.max_order_raw_size), waw: uint64(i.ep_attr.max_order_waw_size),
	}
}

// isLocal reports whether an address is of this host.
func isLocal(ip net.IP) bool {
	if ip == nil || ip.IsLoopback() {
		return ip != nil
	}
	addrs, err := net.InterfaceAddrs()
	return err != nil || slices.ContainsFunc(addrs, func(a net.Addr) bool {
		n, ok := a.(*net.IPNet)
		return ok && n.IP.Equal(ip)
	})
}

// usable reports whether other hosts may reach an address: not loopback, not
// link-local.
func usable(i *C.struct_fi_info) bool {
	ip := describe(i).ip()
	return ip != nil && !ip.IsLoopback() && !ip.IsLinkLocalUnicast()
}

// available lists the available devices, for errors.
func available() string {
	all, err := Discover()
	if err != nil || len(all) == 0 {
		return "; libfabric offers no connected endpoints with ordered requests at all"
	}
	s := "; there is"
	for i, f := range all {
		if i > 0 {
			s += ","
		}
		s += " " + f.Provider + " " + f.Device + " " + f.Addr
	}
	return s
}

var errGone = errors.New("the peer closed the connection or ended")
