//go:build ofi

package ofi

import (
	"fmt"
	"os"
	"syscall"
	"time"
)

// watcher waits for a libfabric descriptor with Go's network poller, so that
// waiting blocks no thread. libfabric's descriptors are epoll sets or
// completion channels; the watcher puts them into an epoll set of its own, to
// which more can be added.
//
//	poller (edge) --> own epoll (level) --> libfabric's descriptors
//
// Edge triggering is safe here: block drains, asks libfabric (fi_trywait)
// whether no event came meanwhile, checks the level (ready), and only then
// lets the poller wait; an event after that is a new edge. fi_trywait alone
// is not enough: it assumes a level-triggered descriptor, and libfabric's tcp
// leaves bytes in its sockets.
type watcher struct {
	file *os.File
	raw  syscall.RawConn
}

func newWatcher() (*watcher, error) {
	fd, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("%w: epoll: %w", ErrFabric, err)
	}
	if err := syscall.SetNonblock(fd, true); err != nil {
		_ = syscall.Close(fd)
		return nil, fmt.Errorf("%w: epoll: %w", ErrFabric, err)
	}
	w := &watcher{file: os.NewFile(uintptr(fd), "fabric events")}
	if w.raw, err = w.file.SyscallConn(); err == nil {
		err = w.file.SetReadDeadline(time.Time{}) // fails if not pollable
	}
	if err != nil {
		_ = w.file.Close()
		return nil, fmt.Errorf("%w: epoll: %w", ErrFabric, err)
	}
	return w, nil
}

// add watches one more descriptor, which its owner keeps and closes.
func (w *watcher) add(fd int) error {
	ev := syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(fd)}
	var err error
	if e := w.raw.Control(func(own uintptr) {
		err = syscall.EpollCtl(int(own), syscall.EPOLL_CTL_ADD, fd, &ev)
	}); e != nil {
		return e // stopped
	}
	if err != nil {
		return fmt.Errorf("%w: epoll: %w", ErrFabric, err)
	}
	return nil
}

// block calls done, and again after each event, until it returns true.
// False: the watcher was stopped.
func (w *watcher) block(done func() bool) bool {
	return w.raw.Read(func(uintptr) bool { return done() }) == nil
}

// ready checks the level, without waiting.
func (w *watcher) ready() bool {
	var ev [1]syscall.EpollEvent
	n := 0
	err := w.raw.Control(func(fd uintptr) { n, _ = syscall.EpollWait(int(fd), ev[:], 0) })
	return err == nil && n > 0
}

// blockFor bounds the next waits of block; 0: no bound.
func (w *watcher) blockFor(d time.Duration) {
	var t time.Time
	if d > 0 {
		t = time.Now().Add(d)
	}
	_ = w.file.SetReadDeadline(t)
}

// stop ends block, now and in the future.
func (w *watcher) stop() { _ = w.file.Close() }
