package server

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/catfish/client"
	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/catfishtest"
	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/replica/lane"
	"github.com/catfish-index/catfish/internal/wire"
)

// Queue pairs for the log of a group are refused by a server in none, and handed to the one
// who answers in a group; clients notice nothing.
func TestQueuePairsOfMembers(t *testing.T) {
	for _, transport := range oneSided {
		t.Run(transport, func(t *testing.T) {
			s := startServer(t, Options{Transports: []string{transport}, Logger: catfishtest.Quiet()})
			dial(t, s, client.Options{Transport: transport, Fabric: testFabric})
			dev, err := wire.OpenDevice(transport, wire.DeviceOptions{Fabric: testFabric})
			if err != nil {
				t.Fatal(err)
			}
			defer dev.Close()
			at := s.Addr()
			if transport == model.TransportSHM {
				at = s.SocketPath()
			}
			cq, err := dev.CreateCQ(1)
			if err != nil {
				t.Fatal(err)
			}
			ask := func() error {
				h := lane.Hello{Boot: 1, Ticket: 2, RingBytes: lane.MinRingBytes}
				_, err := dev.Dial(t.Context(), at, rdma.QPConfig{SendCQ: cq, RecvCQ: cq}, h.Encode())
				return err
			}
			if err := ask(); !errors.Is(err, rdma.ErrRejected) || !strings.Contains(err.Error(), "no member of one") {
				t.Error(err)
			}
			asked := make(chan string, 1)
			s.AnswerRings(func(_ rdma.Device, transport string, req rdma.ConnRequest) error {
				asked <- transport
				return req.Reject("another answer")
			})
			if err := ask(); !errors.Is(err, rdma.ErrRejected) || !strings.Contains(err.Error(), "another answer") {
				t.Fatal(err)
			}
			if over := <-asked; over != transport {
				t.Errorf("asked over %q", over)
			}
			c := dial(t, s, client.Options{Transport: transport, Fabric: testFabric})
			if _, err := c.Count(context.Background(), catfishtest.Square(0, 0)); err != nil {
				t.Error(err)
			}
		})
	}
}
