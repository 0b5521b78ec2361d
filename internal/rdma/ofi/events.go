//go:build ofi

package ofi

/*
#include "shim.h"
*/
import "C"

import "fmt"

// watchEvents starts the goroutine that reads connection events.
func (d *device) watchEvents() error {
	fd := C.cf_eq_fd(d.eq)
	if fd < 0 {
		return failure("event queue", fd)
	}
	w, err := newWatcher()
	if err != nil {
		return err
	}
	d.events = w
	if err := w.add(int(fd)); err != nil {
		return err
	}
	d.spawn(func() {
		w.block(func() bool {
			for {
				for d.oneEvent() {
				}
				if d.ctx.Err() != nil {
					return true
				}
				d.eqMu.Lock()
				fid := &d.eq.fid
				quiet := C.cf_trywait(d.fabric, &fid, 1) == 0
				d.eqMu.Unlock()
				if quiet && !w.ready() {
					return false
				}
			}
		})
	})
	return nil
}

// oneEvent handles one connection event. False: there was none.
func (d *device) oneEvent() bool {
	var ev C.struct_cf_event
	d.eqMu.Lock()
	ret := C.cf_eq_read(d.eq, &ev)
	d.eqMu.Unlock()
	switch {
	case ret < 0:
		d.opt.Log.Warn("ofi: event queue", "err", failure("reading", ret))
		return false
	case ret == 0:
		return false
	case ev.err == 0 && ev.event == C.FI_CONNREQ:
		d.connRequested(&ev)
		return true
	}
	d.mu.Lock()
	q := d.qps[uint32(ev.ctx)]
	d.mu.Unlock()
	switch {
	case q == nil: // closed meanwhile
	case ev.err != 0:
		q.connectionFailed(failure("connecting to "+q.peer, -ev.err))
	case ev.event == C.FI_CONNECTED:
		q.connected()
	case ev.event == C.FI_SHUTDOWN:
		q.connectionFailed(fmt.Errorf("connection to %s: %w", q.peer, errGone))
	}
	return true
}

// connRequested passes a peer's request to the Accept that expects it.
func (d *device) connRequested(ev *C.struct_cf_event) {
	d.mu.Lock()
	ch := d.expected[uint64(ev.token)]
	delete(d.expected, uint64(ev.token))
	if ch != nil {
		ch <- ev.info // capacity 1; under mu, so that forget finds it
	}
	d.mu.Unlock()
	if ch != nil {
		return
	}
	C.cf_reject(d.pep, ev.info)
	C.fi_freeinfo(ev.info)
	d.opt.Log.Warn("ofi: connection request that nobody expects")
}

// expect announces a token; forget ends that and frees a request that came.
func (d *device) expect(token uint64) chan *C.struct_fi_info {
	ch := make(chan *C.struct_fi_info, 1)
	d.mu.Lock()
	d.expected[token] = ch
	d.mu.Unlock()
	return ch
}

func (d *device) forget(token uint64, ch chan *C.struct_fi_info) {
	d.mu.Lock()
	delete(d.expected, token)
	d.mu.Unlock()
	select {
	case info := <-ch:
		C.cf_reject(d.pep, info)
		C.fi_freeinfo(info)
	default:
	}
}
