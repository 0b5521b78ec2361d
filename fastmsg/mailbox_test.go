package fastmsg

import (
	"bytes"
	"testing"

	"github.com/catfish-index/catfish/internal/lines"
)

// TestMailboxInRing: with MailboxInRing, what the owner writes to the mailbox comes through
// the ring, before the answers after it, and is no answer; also if no answer follows.
func TestMailboxInRing(t *testing.T) {
	overProviders(t, func(t *testing.T, p provider) {
		if p.fetch {
			return // TestMailboxWriteRidesWithAnswer
		}
		conns := make(chan *Conn, 1)
		rode := make(chan bool, 1)
		s := serve(t, p, handlerFuncs{
			opened: func(c *Conn) { conns <- c },
			serve: func(c *Conn, m Message) {
				if m.Kind == 2 {
					rode <- c.Ride(m.Payload)
				}
				echo(c, m)
			},
		}, WorkerConfig{RingBytes: MinRingBytes, MailboxInRing: true})
		c := s.dial(t, CallerConfig{RingBytes: MinRingBytes})
		conn := <-conns
		got := make([]byte, RideBytes)
		for i := range 300 { // several laps
			news := bytes.Repeat([]byte{byte(i + 1)}, RideBytes)
			answer, _, err := c.Call(within(t), 2, news, nil)
			if err != nil || !bytes.Equal(answer, news) {
				t.Fatalf("answer %x, %v", answer, err)
			}
			if !<-rode {
				t.Fatal("the owner is to write it")
			}
			if lines.Copy(got, c.Mailbox()[:RideBytes]); !bytes.Equal(got, news) {
				t.Fatalf("mailbox has %x, want %x", got, news)
			}
		}
		// More than the ring has room for, while nothing is returned: what does
		// not fit is left out, and nothing waits for it.
		last := bytes.Repeat([]byte{0xee}, RideBytes)
		s.Pause()
		for range 2 * MinRingBytes / RideBytes {
			conn.Ride(last)
		}
		waits := conn.Waits()
		s.Resume()
		if waits {
			t.Error("a message for the mailbox waits for room")
		}
		s.TickSoon() // the worker may sleep
		until(t, "the mailbox has the last", func() bool {
			lines.Copy(got, c.Mailbox()[:RideBytes])
			return bytes.Equal(got, last)
		})
		if answer, _, err := c.Call(within(t), 1, []byte("x"), nil); err != nil || string(answer) != "x" {
			t.Errorf("%q, %v", answer, err)
		}
	})
}
