package netpoll

import (
	"net"
	"runtime"
	"sync/atomic"
	"testing"
)

// A goroutine that never rests lets one that waits for a socket run, on one
// processor, long before 10 ms. Mostly, not always: a thread that already waits
// for sockets may itself wait for a busy machine.
func TestSocketsAreLookedAt(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	a, b := pair(t)
	var got atomic.Int64
	go func() {
		var buf [1]byte
		for {
			if _, err := b.Read(buf[:]); err != nil {
				return
			}
			got.Add(1)
		}
	}()
	var p Poller
	defer p.Close()
	p.Poll()
	late := 0
	for i := int64(1); i <= 100; i++ {
		if _, err := a.Write([]byte{1}); err != nil {
			t.Fatal(err)
		}
		polls := 0
		for ; got.Load() < i; polls++ {
			p.Poll()
		}
		if polls > 50 {
			t.Logf("byte %d was read after %d polls", i, polls)
			late++
		}
	}
	if late > 50 {
		t.Errorf("%d of 100 bytes were read late", late)
	}
}

func TestPollDoesNotAllocate(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var p Poller
	defer p.Close()
	p.Poll()
	if n := testing.AllocsPerRun(100, p.Poll); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkPoll(b *testing.B) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var p Poller
	defer p.Close()
	for b.Loop() {
		p.Poll()
	}
}

func pair(t *testing.T) (net.Conn, net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	a, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	b, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close(); b.Close() })
	return a, b
}
