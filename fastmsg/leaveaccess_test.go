package fastmsg

import (
	"slices"
	"testing"

	"github.com/catfish-index/catfish/internal/rdma"
)

// TestAccessToAnswers: any holder of its key can read the ring that a client
// fetches from, as long as its connection lasts, and no peer can write it.
func TestAccessToAnswers(t *testing.T) {
	attacks := map[string]struct {
		try  func(x, friend *stranger) rdma.WorkRequest
		want rdma.Status
	}{
		"writes its own answers": {
			func(x, _ *stranger) rdma.WorkRequest { return x.overwrite(x.left.ring) }, rdma.StatusRemoteAccess,
		},
		"writes a friend's answers": {
			func(x, friend *stranger) rdma.WorkRequest { return x.overwrite(friend.left.ring) }, rdma.StatusRemoteAccess,
		},
		"reads behind the ring": {
			func(x, _ *stranger) rdma.WorkRequest { return x.readLines(x.left.ring.At(x.left.lines*lineBytes), 1) }, rdma.StatusRemoteBounds,
		},
		"reads beyond the last line": {
			func(x, _ *stranger) rdma.WorkRequest {
				return x.readLines(x.left.ring.At((x.left.lines-1)*lineBytes), 2)
			}, rdma.StatusRemoteBounds,
		},
		"reads by a key that resembles": {
			func(x, friend *stranger) rdma.WorkRequest {
				at := friend.left.ring
				at.Key ^= 1 << 20
				return x.readLines(at, 1)
			}, rdma.StatusRemoteKey,
		},
		"reads requests": {
			func(x, friend *stranger) rdma.WorkRequest { return x.readLines(friend.ring, 1) }, rdma.StatusRemoteAccess,
		},
	}
	overFetch(t, func(t *testing.T, p provider) {
		opened := make(chan *Conn, 1)
		s := serve(t, p, handlerFuncs{serve: echo, opened: func(c *Conn) { opened <- c }}, WorkerConfig{})
		friend := newStranger(t, p)
		friend.dial(t, s)
		conn := <-opened
		friend.findLeft(t)
		friend.send(t, 0, message(header{size: 216, kind: 1, flags: FlagEnd}), 27)
		for from := friend.left.next; friend.left.next == from; {
			friend.look(t)
		}
		had := slices.Clone(conn.answers.mem) // no more answers are left in it
		for name, attack := range attacks {
			t.Run(name, func(t *testing.T) {
				x := newStranger(t, p)
				x.dial(t, s)
				<-opened
				x.findLeft(t)
				x.refused(t, attack.try(x, friend), attack.want)
				if !slices.Equal(conn.answers.mem, had) {
					t.Error("answers of another client have changed")
				}
			})
		}
	})
}

// TestAnswersEndWithTheirConnection: a key that was right until the client
// disconnected does not read the rest of its answers.
func TestAnswersEndWithTheirConnection(t *testing.T) {
	overFetch(t, func(t *testing.T, p provider) {
		closed := make(chan error, 2)
		s := serve(t, p, handlerFuncs{serve: echo, closed: func(_ *Conn, err error) { closed <- err }}, WorkerConfig{})
		friend, x := newStranger(t, p), newStranger(t, p)
		for _, of := range []*stranger{friend, x} {
			of.dial(t, s)
			of.findLeft(t)
		}
		friend.qp.Close()
		<-closed
		s.Pause() // the regions are released after Closed
		s.Resume()
		x.refused(t, x.readLines(friend.left.ring, 1), rdma.StatusRemoteKey)
	})
}

func (x *stranger) overwrite(at rdma.Remote) rdma.WorkRequest {
	return rdma.WorkRequest{Op: rdma.OpWrite, Local: rdma.Buffer{Region: x.source, Len: lineBytes}, Remote: at}
}

func (x *stranger) readLines(at rdma.Remote, n int) rdma.WorkRequest {
	return rdma.WorkRequest{Op: rdma.OpRead, Local: rdma.Buffer{Region: x.left.landing, Len: n * lineBytes}, Remote: at}
}

// refused posts a request that must be refused, and waits for its completion
// and for the end of the connection.
func (x *stranger) refused(t *testing.T, wr rdma.WorkRequest, want rdma.Status) {
	t.Helper()
	if _, err := x.qp.Post([]rdma.WorkRequest{wr}); err != nil {
		t.Fatal(err)
	}
	for {
		var c [1]rdma.Completion
		if x.cq.Poll(c[:]) == 0 {
			if err := x.cq.Wait(within(t), -1); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if c[0].Op != wr.Op {
			continue
		}
		got := c[0].Status
		switch x.dev.Info().Faults {
		case rdma.FaultsCoarse:
			want = rdma.StatusRemoteAccess
		case rdma.FaultsNone:
			if want = rdma.StatusPeerLost; got == rdma.StatusFlushed {
				got = want
			}
		}
		if got != want {
			t.Errorf("ended with %v, want %v", got, want)
		}
		break
	}
	until(t, "the connection has ended", func() bool { return x.qp.Err() != nil })
}
