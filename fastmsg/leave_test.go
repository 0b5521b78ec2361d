package fastmsg

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/internal/fetch"
	"github.com/catfish-index/catfish/internal/lines"
	"github.com/catfish-index/catfish/internal/rdma"
)

// left is the place of the answers that a stranger may fetch.
type left struct {
	ring    rdma.Remote
	lines   uint64
	next    uint64
	landing rdma.Region
}

// wait polls until a completion satisfies wanted.
func (x *stranger) wait(t testing.TB, wanted func(c *rdma.Completion) bool) {
	t.Helper()
	for {
		var comps [1]rdma.Completion
		if x.cq.Poll(comps[:]) == 0 {
			if err := x.cq.Wait(within(t), -1); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if comps[0].Status != rdma.StatusOK {
			t.Fatal(comps[0].Err())
		}
		if wanted(&comps[0]) {
			return
		}
	}
}

// findLeft waits for the message that says where the answers lie.
func (x *stranger) findLeft(t testing.TB) {
	t.Helper()
	x.wait(t, func(c *rdma.Completion) bool { return c.Op == rdma.OpRecv })
	b := x.region.Bytes()[MailboxBytes:]
	if h := decodeHeader(binary.LittleEndian.Uint64(b)); h.flags != FlagWhere {
		t.Fatalf("the first message has flags %#x, want %#x", h.flags, FlagWhere)
	}
	b = b[headerBytes:]
	l := &x.left
	l.ring = rdma.Remote{Key: rdma.Key(binary.LittleEndian.Uint64(b)), Addr: binary.LittleEndian.Uint64(b[8:])}
	l.lines, l.next = uint64(binary.LittleEndian.Uint32(b[16:])), binary.LittleEndian.Uint64(b[20:])
	var err error
	if l.landing, err = x.dev.Register(int(l.lines)*lineBytes, rdma.LocalWrite); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.landing.Close() })
}

// takeLeft fetches until there is a message, says that it has all, and returns
// how many bytes of lines it took.
func (x *stranger) takeLeft(t testing.TB) int {
	t.Helper()
	l := &x.left
	if l.lines == 0 {
		x.findLeft(t)
	}
	from := l.next
	for l.next == from {
		x.look(t)
	}
	x.sayLeft(t, sayTook, l.next)
	return int(l.next-from) * lineBytes
}

// look fetches all lines, and takes the messages that are complete.
func (x *stranger) look(t testing.TB) {
	t.Helper()
	l := &x.left
	{
		if _, err := x.qp.Post([]rdma.WorkRequest{{
			Op: rdma.OpRead, Local: rdma.Buffer{Region: l.landing, Len: int(l.lines) * lineBytes}, Remote: l.ring,
		}}); err != nil {
			t.Fatal(err)
		}
		x.wait(t, func(c *rdma.Completion) bool { return c.Op == rdma.OpRead })
		for l.whole() {
		}
	}
}

func (x *stranger) sayLeft(t testing.TB, what uint32, line uint64) {
	t.Helper()
	x.send(t, 0, nil, what|uint32(line)&positionMask)
}

// whole takes the next message, if all of its lines have arrived.
func (l *left) whole() bool {
	line := func(at uint64) []byte { return l.landing.Bytes()[at%l.lines*lineBytes:][:lineBytes] }
	valid := func(at uint64) bool { return binary.LittleEndian.Uint32(line(at)) == uint32(at+1) }
	if !valid(l.next) {
		return false
	}
	h := decodeHeader(binary.LittleEndian.Uint64(line(l.next)[wordBytes:]))
	end := l.next + linesOf(int(h.size)-headerBytes-int(h.fill))
	for at := l.next; at < end; at++ {
		if !valid(at) {
			return false
		}
	}
	l.next = end
	return true
}

// TestServerPostsNothing: answers that come soon are fetched, and the server
// posts nothing for them, nor for returning the room of their requests.
func TestServerPostsNothing(t *testing.T) {
	overFetch(t, func(t *testing.T, p provider) {
		s := serve(t, p, handlerFuncs{serve: echo}, WorkerConfig{})
		var counts fetch.Counts
		c := s.dial(t, CallerConfig{FetchCounts: &counts})
		fetching(t, c)
		// Fewer than the Caller makes before it can first try the other way.
		const calls = 100
		s.Pause() // Then it has counted what it answered.
		before, changes := s.Stats(), counts.Changes.Load()
		s.Resume()
		for range calls {
			if got, _, err := c.Call(within(t), 1, []byte("twenty bytes of text"), nil); err != nil || len(got) != 20 {
				t.Fatalf("%q, %v", got, err)
			}
		}
		s.Pause()
		after := s.Stats()
		s.Resume()
		if n := after.Responses - before.Responses; n != calls {
			t.Errorf("%d answers are counted, want %d", n, calls)
		}
		posted, fetchable := after.Posted-before.Posted, after.Fetchable-before.Fetchable
		if counts.Changes.Load() == changes && posted != 0 {
			t.Errorf("the server posted %d work requests, and all of %d answers were fetched", posted, calls)
		}
		if fetchable == 0 {
			t.Error("no answer was left to be fetched")
		}
		t.Logf("%d answers: posted %d; reads %d, in vain %d, changes %d, since the dial", calls, posted,
			counts.Reads.Load(), counts.Vain.Load(), counts.Changes.Load())
	})
}

// TestFetchBytes: with a fixed size a longer answer takes one more Read, of the rest.
func TestFetchBytes(t *testing.T) {
	overFetch(t, func(t *testing.T, p provider) {
		s := serve(t, p, handlerFuncs{serve: echo}, WorkerConfig{})
		var counts fetch.Counts
		c := s.dial(t, CallerConfig{FetchCounts: &counts, FetchBytes: 36, FetchAlways: true})
		fetching(t, c)
		// 200 bytes are five lines.
		const calls = 100
		before, changes := counts.Reads.Load()-counts.Vain.Load(), counts.Changes.Load()
		for range calls {
			if got, _, err := c.Call(within(t), 1, make([]byte, 200), nil); err != nil || len(got) != 200 {
				t.Fatalf("%d bytes, %v", len(got), err)
			}
		}
		if got := counts.Reads.Load() - counts.Vain.Load() - before; got != 2*calls && counts.Changes.Load() == changes {
			t.Errorf("%d Reads found lines of %d answers, want two of each", got, calls)
		}
		if counts.Trials.Load() != 0 {
			t.Errorf("%d trials of a Caller that always fetches", counts.Trials.Load())
		}
	})
}

// TestFetchRetries: the server is asked for an answer after exactly so many Reads.
func TestFetchRetries(t *testing.T) {
	overFetch(t, func(t *testing.T, p provider) {
		late := make(chan struct{})
		s := serve(t, p, handlerFuncs{serve: func(c *Conn, m Message) {
			if m.Kind == 2 {
				<-late
			}
			echo(c, m)
		}}, WorkerConfig{})
		var counts fetch.Counts
		c := s.dial(t, CallerConfig{FetchCounts: &counts, FetchRetries: 3, FetchAlways: true})
		fetching(t, c)
		before := counts.Vain.Load()
		done := make(chan error, 1)
		go func() {
			_, _, err := c.Call(within(t), 2, nil, nil)
			done <- err
		}()
		until(t, "the answer is to be written", func() bool { return !c.Fetching() })
		close(late)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if got := counts.Vain.Load() - before; got != 3 {
			t.Errorf("asked after %d Reads that found nothing, want 3", got)
		}
	})
}

// TestFetchOptions: values out of range are refused, with the range.
func TestFetchOptions(t *testing.T) {
	for want, cfg := range map[string]CallerConfig{
		"FetchBytes -1, want 0 to 16384":     {FetchBytes: -1},
		"FetchBytes 16385, want 0 to 16384":  {FetchBytes: MaxFetchBytes + 1},
		"FetchRetries -1, want 0 to 1048576": {FetchRetries: -1},
	} {
		if _, err := Dial(t.Context(), nil, "", cfg); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// overFetch is overProviders with answers that are fetched.
func overFetch(t *testing.T, run func(t *testing.T, p provider)) {
	for _, p := range providers {
		p.fetch = true
		t.Run("transport="+p.name, func(t *testing.T) { run(t, p) })
	}
}

// fetching waits until the client fetches.
func fetching(t testing.TB, c *Caller) {
	t.Helper()
	until(t, "answers are fetched", func() bool {
		if _, _, err := c.Call(within(t), 1, nil, nil); err != nil {
			t.Fatal(err)
		}
		return c.Fetching()
	})
}

// TestChangeBetweenFetchedAndWritten: a client whose answers take long changes to written
// answers, fetches again when they are quick, and gets each answer once and complete, also
// in many pieces.
func TestChangeBetweenFetchedAndWritten(t *testing.T) {
	overFetch(t, func(t *testing.T, p provider) {
		gate := make(chan struct{})
		defer close(gate) // also if the test fails
		s := serve(t, p, handlerFuncs{serve: func(c *Conn, m Message) {
			if m.Kind == 2 {
				<-gate
			}
			for range 3 {
				c.RespondPart(m.Kind, m.ID, m.Payload)
			}
			c.Respond(m.Kind, m.ID, m.Payload)
		}}, WorkerConfig{})
		c := s.dial(t, CallerConfig{RingBytes: MinRingBytes})
		for round := range 20 {
			fetching(t, c)
			want := bytes.Repeat([]byte{byte(round)}, 40*round)
			done := make(chan error, 8)
			for i := range cap(done) {
				kind := Kind(1)
				if i == cap(done)/2 {
					kind = 2
				}
				go func() {
					got, _, err := c.Call(within(t), kind, want, nil)
					if err == nil && !bytes.Equal(got, bytes.Repeat(want, 4)) {
						err = fmt.Errorf("%d bytes, want %d, or others", len(got), 4*len(want))
					}
					done <- err
				}()
			}
			until(t, "the answers are written", func() bool { return !c.Fetching() })
			gate <- struct{}{}
			for range cap(done) {
				if err := <-done; err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

// TestMailboxWriteRidesWithAnswer: a write by the owner of the server to the
// mailbox comes with a fetched answer, and once.
func TestMailboxWriteRidesWithAnswer(t *testing.T) {
	overFetch(t, func(t *testing.T, p provider) {
		rode := make(chan bool, 2)
		s := serve(t, p, handlerFuncs{serve: func(c *Conn, m Message) {
			if m.Kind == 2 {
				rode <- c.Ride(m.Payload)
			}
			if m.Kind == 3 {
				c.Ride(m.Payload)
				rode <- c.Ride(m.Payload) // the owner writes this one, and the older one is dropped
			}
			c.Respond(m.Kind, m.ID, nil)
		}}, WorkerConfig{})
		var counts fetch.Counts
		c := s.dial(t, CallerConfig{FetchCounts: &counts})
		for n := uint64(1); n < 20; {
			fetching(t, c)
			news := bytes.Repeat([]byte{byte(n)}, RideBytes)
			if _, _, err := c.Call(within(t), 2, news, nil); err != nil {
				t.Fatal(err)
			}
			if !<-rode {
				continue // the client has changed over to answers that are written
			}
			if _, _, err := c.Call(within(t), 1, nil, nil); err != nil {
				t.Fatal(err)
			}
			got := make([]byte, RideBytes)
			lines.Copy(got, c.Mailbox())
			if counts.Changes.Load() == 0 && !bytes.Equal(got, news) {
				t.Fatalf("mailbox has %x, want %x", got, news)
			}
			if _, _, err := c.Call(within(t), 3, make([]byte, RideBytes), nil); err != nil {
				t.Fatal(err)
			}
			if <-rode {
				t.Fatal("two at once")
			}
			if lines.Copy(got, c.Mailbox()); counts.Changes.Load() == 0 && !bytes.Equal(got, news) {
				t.Fatalf("mailbox has %x, want %x", got, news)
			}
			n++
		}
	})
}
