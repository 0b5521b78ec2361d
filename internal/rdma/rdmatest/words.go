package rdmatest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/catfish-index/catfish/internal/rdma"
)

// caseWritesBeforeWord: a target that looks at memory, without any event, sees
// a written word whole, and with it the bytes that were written before it. Each
// message has a slot of its own. The word counts messages in its lower half
// and has the complement in the upper one, so that a torn one is recognised.
// Only devices with Info.TornLines may show one, for a time.
func caseWritesBeforeWord(e *env) {
	const (
		messages = 2000
		slots    = 64
		words    = slots * orderSlot // of the target: the word; of the initiator: one a slot
	)
	p := e.pair(words + slots*8)
	word := (*uint64)(unsafe.Pointer(&p.s.mem.Bytes()[words]))
	torn := p.s.dev.Info().TornLines
	free := make(chan struct{}, slots)
	for range slots {
		free <- struct{}{}
	}
	stop := make(chan struct{})
	var w workers
	w.run(func() error { // target
		defer close(stop)
		want, none := make([]byte, orderSlot), make([]rdma.Completion, 1)
		end := time.Now().Add(e.cfg.Patience)
		for last, looks := 0, 0; last < messages; {
			v := atomic.LoadUint64(word)
			var b [8]byte
			binary.NativeEndian.PutUint64(b[:], v)
			v = binary.LittleEndian.Uint64(b[:])
			n := int(uint32(v))
			switch {
			case v == 0, n == last, torn && uint32(v>>32) != ^uint32(v):
				if looks++; looks%32 != 0 {
					runtime.Gosched()
					continue
				}
				// Lets a software device progress.
				p.s.recv.Poll(none)
				if err := p.s.recv.Wait(context.Background(), time.Microsecond); err != nil && !errors.Is(err, rdma.ErrTimeout) {
					return err
				}
				if time.Now().After(end) {
					return fmt.Errorf("the word is %#x after message %d, within %v", v, last, e.cfg.Patience)
				}
				continue
			case uint32(v>>32) != ^uint32(v):
				return fmt.Errorf("after message %d the word is %#x, in two halves", last, v)
			case n < last || n > last+slots:
				return fmt.Errorf("after message %d the word says %d", last, n)
			}
			for ; last < n; last++ {
				o := last % slots * orderSlot
				orderFill(want[:orderLen(last)], last)
				if !bytes.Equal(p.s.mem.Bytes()[o:o+orderLen(last)], want[:orderLen(last)]) {
					return fmt.Errorf("the word says %d, message %d is not there", n, last)
				}
				free <- struct{}{}
			}
			end = time.Now().Add(e.cfg.Patience)
		}
		return nil
	})
	w.run(func() error { // initiator
		b := p.c.mem.Bytes()
		for i := range messages {
			select {
			case <-free:
			case <-stop:
				return nil // the target reports why
			}
			o, n, at := i%slots*orderSlot, orderLen(i), words+i%slots*8
			orderFill(b[o:o+n], i)
			v := uint64(i + 1)
			binary.LittleEndian.PutUint64(b[at:], v|^v<<32)
			wrs := []rdma.WorkRequest{
				unsignaled(write(0, p.c.mem, o, p.s.mem, o, n)),
				write(uint64(i), p.c.mem, at, p.s.mem, words, 8),
			}
			if err := postAll(p.cq, p.c.send, wrs, e.cfg.Patience, nil); err != nil {
				return err
			}
		}
		return nil
	})
	e.join(&w)
}
