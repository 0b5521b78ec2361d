package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/datasets"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/cli/clitest"
	"github.com/catfish-index/catfish/internal/store/disk"
	"github.com/catfish-index/catfish/rstar"
)

// Error messages have no names of packages, types or fields.
func TestErrorsHaveNoGoNames(t *testing.T) {
	for _, c := range []struct {
		err        error
		want, hint string
	}{
		{fmt.Errorf("%w: %w: x", rstar.ErrSlabFull, datasets.ErrTooMany), "catfish: slab full: too many objects: x\n", ""},
		{fmt.Errorf("server: %w", rstar.ErrBadRect), "catfish: server: bad rectangle\n", ""},
		{fmt.Errorf("datasets: /x/bench: %w (rstar: y)", fs.ErrNotExist), "catfish: /x/bench: file does not exist (y)\n", ""},
		{fmt.Errorf("%w: shm: no", catfish.ErrTransport), "catfish: transport not available: shm: no\n", "--transport auto"},
		{&fastmsg.CallError{Peer: "p", Kind: 3, Outcome: fastmsg.ErrNotSent, Cause: context.DeadlineExceeded},
			"catfish: request not sent (to p): context deadline exceeded\n", "safe to try again"},
		{&fastmsg.CallError{Peer: "p", Kind: 3, Outcome: fastmsg.ErrUnknownOutcome, Cause: io.EOF},
			"catfish: no answer to a request that was sent: it may or may not have been carried out (to p): EOF\n", "look before"},
		{fmt.Errorf("%w: answer exceeds 5 bytes", fastmsg.ErrTooLarge), "catfish: message too large: answer exceeds 5 bytes\n", "--limit"},
		{fmt.Errorf("opening data: %w: x", disk.ErrCorrupt), "catfish: opening data: corrupt: x\n", "catfish restore"},
		{fmt.Errorf("a\n%w", errors.New("rdma: b")), "catfish: a\nb\n", ""},
	} {
		var b strings.Builder
		if code := (Program{}).exitCode(t.Context(), new(cobra.Command), c.err, &b); code != ExitFailure ||
			!strings.HasPrefix(b.String(), c.want) || !strings.Contains(b.String(), c.hint) {
			t.Errorf("exit %d, %q, want %q and %q", code, b.String(), c.want, c.hint)
		}
	}
	clitest.Fail(t, ExitUsage, strings.Fields("serve --listen 127.0.0.1:0 --slab-bytes 1000"), "a slab of 1", "--slab-bytes 1000")
}

// The listener at an address may be another program.
func TestNoCatfishServer(t *testing.T) {
	for answer, says := range map[string]string{
		"HTTP/1.1 400 Bad Request\r\n\r\n": "no Catfish server, by its answer (the ports of --http,",
		"":                                 "ended the connection without an answer",
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		served := make(chan error, 1)
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					served <- err
					return
				}
				// Read all of the greeting, or closing would be a reset.
				_, _ = io.ReadFull(c, make([]byte, 8))
				_, _ = io.WriteString(c, answer)
				c.Close()
			}
		}()
		clitest.Fail(t, ExitFailure, []string{"status", "--server", l.Addr().String(), "--dial-timeout", "2s"},
			"no server", l.Addr().String(), says)
		l.Close()
		<-served
	}
}
