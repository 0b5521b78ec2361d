package client

import (
	"runtime/debug"
	"testing"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/internal/wire"
)

// TestChooseAfterSessionEnds: a call that chose a session before it ended, and
// asks the policy afterwards, does not read an unmapped mailbox.
func TestChooseAfterSessionEnds(t *testing.T) {
	s := startServer(t, server.Options{Workers: 1})
	c := dial(t, s, Options{Transport: model.TransportSHM, Policy: "paper"})
	old := c.conn.sessions.latest()
	o, err := old.open(t.Context(), model.DefaultCollection)
	if err != nil {
		t.Fatal(err)
	}
	old.mailboxes[ofBoxes].retire()
	old.close()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			t.Fatalf("choose: %v at %#x", r, r.(interface{ Addr() uintptr }).Addr())
		}
	}()
	c.conn.engines[ofBoxes].Choose(&old.mailboxes[ofBoxes], &boxQuery{kind: wire.KindSearch, read: read{open: o}})
	old.mailboxes[ofBoxes].Take()
}
