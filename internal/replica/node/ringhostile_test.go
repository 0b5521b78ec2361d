package node

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/catfish-index/catfish/internal/catfishtest"
	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/replica"
	layout "github.com/catfish-index/catfish/internal/replica/lane"
	"github.com/catfish-index/catfish/internal/replica/link"
	"github.com/catfish-index/catfish/internal/replica/rings"
	"github.com/catfish-index/catfish/internal/store/disk"
)

// Without a transport that both have, and with one that fails, the lane is a stream, which
// says why. With Must there is none.
func TestNoWay(t *testing.T) {
	g := groupOver(t, 1, "soft")
	g.write("a")
	ways := map[string]func() ([]Way, error){
		"no common transport": func() ([]Way, error) { return nil, errors.New("no common transport") },
		"soft failed": func() ([]Way, error) {
			return []Way{{Transport: "soft", Addr: "127.0.0.1:1", Open: func() (rdma.Device, error) { return openTestDevice("soft") }}}, nil
		},
		"shm failed: no device": func() ([]Way, error) {
			return []Way{{Transport: "shm", Open: func() (rdma.Device, error) { return nil, errors.New("no device") }}}, nil
		},
	}
	ways["the primary has no rings"] = nil // It sends no ticket.
	for want, of := range ways {
		for _, must := range []bool{false, true} {
			l := &lanes{n: &Node{o: Options{Group: "g", Rings: &Rings{Must: must, Bytes: func() int { return testRingBytes },
				Ways: func(context.Context, string) ([]Way, error) { return of() }}}, ctx: t.Context()}}
			ticket := uint64(1)
			if of == nil {
				ticket = 0
			}
			here, there := net.Pipe()
			x := newLane(here, 0)
			said := make(chan string, 1)
			go func() {
				_ = writeLine(there, invitation{Ticket: ticket})
				line, _ := bufio.NewReader(there).ReadString('\n')
				said <- line
			}()
			err := l.openRing(here, bufio.NewReader(here), x, Member{})
			_ = here.Close()
			line := <-said
			switch {
			case must && (!errors.Is(err, ErrRing) || !strings.Contains(err.Error(), want) || line != ""):
				t.Errorf("%s, must: %v, said %q", want, err, line)
			case !must && (err != nil || x.status.Transport != streamTransport || !strings.Contains(x.status.Reason, want) || !strings.Contains(line, `"tcp"`)):
				t.Errorf("%s: %v, %+v, said %q", want, err, x.status, line)
			}
		}
	}
}

// stranger opens a stream to a member, and gets an invitation.
func (g *group) stranger(m *member, hi greeting) (net.Conn, *bufio.Reader, invitation) {
	g.t.Helper()
	c, err := net.Dial("tcp", m.node.o.Addr)
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	r := bufio.NewReaderSize(c, lineBytes)
	var w welcome
	var to invitation
	if err := errors.Join(writeLine(c, hi), readLine(r, &w), readLine(r, &to)); err != nil || w != (welcome{}) {
		g.t.Fatal(err, w)
	}
	return c, r, to
}

// dialRing dials a member's device with a hello.
func (g *group) dialRing(m *member, h layout.Hello) (*rings.Receiver, error) {
	dev, err := openTestDevice(g.transport)
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { _ = dev.Close() })
	at, _ := g.at.Load(m.node.o.Addr)
	r, err := rings.Dial(g.t.Context(), dev, at.(string), h, testRingBytes, 1<<20)
	if err == nil {
		g.t.Cleanup(r.Close)
	}
	return r, err
}

// Queue pairs of strangers are refused, and say why.
func TestStrangersQueuePairs(t *testing.T) {
	ringGroups(t, 1, func(g *group) {
		m := g.members[0]
		g.write("a")
		_, _, to := g.stranger(m, greeting{Group: "g", From: 3, Ring: true})
		good := layout.Hello{Boot: to.Boot, Ticket: to.Ticket, Group: layout.GroupSum("g"), Member: 3}
		for want, change := range map[string]func(h *layout.Hello){
			"another group":      func(h *layout.Hello) { h.Group++ },
			"boot":               func(h *layout.Hello) { h.Boot++ },
			"unknown ticket":     func(h *layout.Hello) { h.Ticket++ },
			"member 3's, not 4":  func(h *layout.Hello) { h.Member = 4 },
			"ticket 0, which is": func(h *layout.Hello) { h.Ticket = 0 },
		} {
			h := good
			change(&h)
			if _, err := g.dialRing(m, h); !errors.Is(err, rdma.ErrRejected) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", want, err)
			}
		}
		if _, err := g.dialRing(m, good); err != nil {
			t.Fatal(err)
		}
		if _, err := g.dialRing(m, good); !errors.Is(err, rdma.ErrRejected) || !strings.Contains(err.Error(), "in use") {
			t.Errorf("the same ticket again: %v", err)
		}
		g.write("b")
	})
}

// A follower that does not open the queue pair that it announces gets no lane.
func TestQueuePairThatDoesNotCome(t *testing.T) {
	g := groupOver(t, 1, "soft")
	c, r, _ := g.stranger(g.members[0], greeting{Group: "g", From: 3, Ring: true})
	if err := writeLine(c, joining{Transport: "shm"}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.ReadByte(); err == nil {
		t.Error("the stream goes on")
	}
	l := g.members[0].node.lanes
	catfishtest.Eventually(t, "the ticket is forgotten", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return len(l.invited) == 0 && len(l.in) == 0
	})
	c, r, _ = g.stranger(g.members[0], greeting{Group: "g", From: 3, Ring: true})
	if _, err := c.Write(append(bytes.Repeat([]byte{'x'}, 2*lineBytes), '\n')); err != nil {
		t.Fatal(err)
	}
	if _, err := r.ReadByte(); err == nil {
		t.Error("the stream goes on after a line that is too long")
	}
	g.write("a")
}

// A queue pair that its owner gives up for the stream ends, and leaves no memory.
func TestQueuePairThatIsGivenUp(t *testing.T) {
	ringGroups(t, 1, func(g *group) {
		m := g.members[0]
		c, _, to := g.stranger(m, greeting{Group: "g", From: 3, Ring: true})
		in, err := g.dialRing(m, layout.Hello{Boot: to.Boot, Ticket: to.Ticket, Group: layout.GroupSum("g"), Member: 3})
		if err == nil {
			err = writeLine(c, joining{Transport: streamTransport})
		}
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- in.Read(func(layout.Frame) error { return nil }, func() {}) }()
		select {
		case err := <-ended:
			if !errors.Is(err, rdma.ErrCompletion) {
				t.Error(err)
			}
		case <-time.After(time.Minute):
			t.Error("the queue pair goes on")
			in.Stop()
			<-ended
		}
	})
}

// hostile is a primary that is played by a test.
type hostile struct {
	g     *group
	m     *member // its follower
	c     net.Conn
	r     *bufio.Reader
	s     *rings.Sender
	hello *replica.Hello
	ln    net.Listener
	rings *testRings
}

// hostileGroup has a primary that is played, and a follower that has opened its lane and said
// Hello.
func hostileGroup(t *testing.T, transport string) *hostile {
	t.Helper()
	g := &group{t: t, decider: newDecider(), transport: transport, change: func(*Rings) {}}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := &hostile{g: g, ln: ln, rings: g.openRings(ln.Addr().String())}
	p := Member{Name: "h", Addr: ln.Addr().String(), Boot: 7}
	made := newGroup(&Options{Group: "g", Name: "h", StoreID: "s"}, p)
	if _, err := g.decider.Swap(t.Context(), Key("g"), 0, made.encode()); err != nil {
		t.Fatal(err)
	}
	h.m = &member{name: "n2", dir: filepath.Join(t.TempDir(), "data"), fs: vfs.Default}
	g.members = []*member{h.m}
	g.start(h.m)
	t.Cleanup(func() {
		g.stop(h.m)
		h.end()
		_ = h.ln.Close()
		_ = h.rings.ln.Close()
		_ = h.rings.dev.Close()
	})
	h.follow()
	return h
}

// end ends the lane from the primary's side.
func (h *hostile) end() {
	_ = h.c.Close()
	h.s.Close()
}

// follow takes the follower's next lane.
func (h *hostile) follow() {
	t := h.g.t
	t.Helper()
	var err error
	if h.c, err = h.ln.Accept(); err != nil {
		t.Fatal(err)
	}
	_ = h.c.SetDeadline(time.Now().Add(20 * time.Second))
	h.r = bufio.NewReader(h.c)
	var hi greeting
	if err := errors.Join(readLine(h.r, &hi), writeLine(h.c, welcome{}), writeLine(h.c, invitation{Ticket: 5, Boot: 7})); err != nil || !hi.Ring {
		t.Fatal(err, hi)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	req, err := h.rings.ln.Accept(ctx)
	if err != nil {
		t.Fatal(err)
	}
	of, err := layout.DecodeHello(req.PrivateData())
	if err == nil {
		h.s, err = rings.Accept(h.rings.dev, req, of)
	}
	var is joining
	if err := errors.Join(err, readLine(h.r, &is)); err != nil || is.Transport != h.g.transport {
		t.Fatal(err, is)
	}
	m, err := link.Read(h.r)
	if err != nil {
		t.Fatal(err)
	}
	h.hello = m.(*replica.Hello)
}

// Frames that decode, and are not the primary's of this term and session, or whose payload is
// no entry, get into no log.
func TestForgedFrames(t *testing.T) {
	e := disk.Entry{Collection: 1, Kind: disk.Put, Key: []byte("forged"), Value: []byte("v"), Revision: 1}
	good := e.Append(layout.AppendLength(nil, e.Bytes()))
	for _, transport := range testTransports() {
		t.Run("transport="+transport, func(t *testing.T) {
			h := hostileGroup(t, transport)
			for _, tc := range []struct {
				name   string
				change func(f *layout.Frame)
				ends   bool // else the protocol refuses it
			}{
				{"lower term", func(f *layout.Frame) { f.Term-- }, false},
				{"higher term", func(f *layout.Frame) { f.Term += 2 }, false},
				{"other session", func(f *layout.Frame) { f.Session += 7 }, false},
				{"not the first of the session", func(f *layout.Frame) { f.Flags = 0 }, false},
				{"a gap", func(f *layout.Frame) { f.First = 9 }, false},
				{"no entry", func(f *layout.Frame) { f.Payload = layout.AppendEntry(nil, []byte("xyz")) }, true},
				{"too few entries", func(f *layout.Frame) { f.Entries = 2 }, true},
			} {
				x := h.m.lane()
				f := layout.Frame{Kind: layout.Entries, Flags: layout.Start, Term: h.hello.Term, Session: h.hello.Session, First: 1, Entries: 1, Payload: good}
				tc.change(&f)
				if f.Term == 0 { // It would not decode.
					f.Term, tc.ends = 0, true
				}
				// The member may end the lane before the Write has completed.
				if err := h.s.Send(f); err != nil && !(tc.ends && errors.Is(err, rdma.ErrCompletion)) {
					t.Fatalf("%s: %v", tc.name, err)
				}
				if tc.ends {
					select {
					case <-x.done:
					case <-time.After(20 * time.Second):
						t.Fatalf("%s: the lane goes on", tc.name)
					}
				}
				h.m.node.events <- event{is: replica.Tick{}} // after the frame
				if end := h.m.node.Status().End; end != 0 {
					t.Fatalf("%s: the follower's log ends with %d", tc.name, end)
				}
				if tc.ends {
					h.end()
					h.follow()
				}
			}
			// The same, when nothing is wrong, gets into the log.
			if err := h.s.Send(layout.Frame{Kind: layout.Entries, Flags: layout.Start, Term: h.hello.Term, Session: h.hello.Session,
				First: 1, Entries: 1, Payload: good}); err != nil {
				t.Fatal(err)
			}
			catfishtest.Eventually(t, "the right one is in the log", func() bool { return h.m.node.Status().End == 1 })
		})
	}
}

// A greeting without ring gets a stream, as members of before do.
func TestGreetingWithoutRing(t *testing.T) {
	g := groupOver(t, 1, "soft")
	c, err := net.Dial("tcp", g.members[0].node.o.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	b, _ := json.Marshal(greeting{Group: "g", From: 5})
	if _, err := c.Write(append(b, '\n')); err != nil {
		t.Fatal(err)
	}
	l := g.members[0].node.lanes
	catfishtest.Eventually(t, "the stream is a lane", func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		x := l.in[replica.ID(5)]
		return x != nil && x.status.Transport == streamTransport
	})
}
