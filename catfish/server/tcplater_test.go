package server

import (
	"bufio"
	"bytes"
	"net"
	"testing"
	"testing/synctest"

	"github.com/catfish-index/catfish/internal/wire"
)

// TestSocketHasOneOwner: while another goroutine writes an answer that the client takes
// slowly, the reader waits for the socket, and replies follow that answer, whole.
func TestSocketHasOneOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, end := net.Pipe()
		defer c.Close()
		out := newPacedWriter(end)
		a := newSocketAnswers(end, out, nil)
		w := newAnswerWriter(out)
		answer := func(id uint64) {
			l, err := a.later(id, 0)
			if err != nil || !l.respond(wire.KindReply, bytes.Repeat([]byte{byte(id)}, 100)) {
				t.Error(err)
			}
		}
		answer(1)
		synctest.Wait() // the answer is being written
		wrote := false
		go func() {
			if err := w.write(wire.KindReply, 4, bytes.Repeat([]byte{4}, 100), true); err != nil {
				t.Error(err)
			}
			wrote = true
		}()
		answer(2)
		answer(3)
		synctest.Wait()
		a.mu.Lock()
		if w.owned || wrote {
			t.Error("two own the socket")
		}
		a.mu.Unlock()
		r := bufio.NewReaderSize(c, 16)
		for id := uint64(1); id <= 4; id++ {
			kind, got, b, err := wire.ReadFrame(r, nil, wire.MaxReply)
			if err != nil || kind != wire.KindReply || got != id || !bytes.Equal(b, bytes.Repeat([]byte{byte(id)}, 100)) {
				t.Fatalf("answer %d of kind %d, %x, %v; want %d", got, kind, b, err, id)
			}
		}
		synctest.Wait()
		if why := a.end(false); why != nil || w.owned || !wrote {
			t.Fatal(why)
		}
	})
}
