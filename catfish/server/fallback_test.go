package server

import (
	"strings"
	"testing"

	"github.com/catfish-index/catfish/catfish/client"
	"github.com/catfish-index/catfish/catfish/model"
)

// TestServerWithoutRoom: clients that the server has no room for get an error with the limit, and
// those of other transports are served.
func TestServerWithoutRoom(t *testing.T) {
	s := startServer(t, Options{Transports: []string{model.TransportSHM, model.TransportSoft}})
	rest := s.streams.conns.Open("127.0.0.1", nil)
	defer rest.Close()
	if err := rest.Take(s.streams.conns.Use().Limit); err != nil {
		t.Fatal(err)
	}
	for _, tr := range []string{model.TransportSoft, model.TransportTCP} {
		_, err := client.Dial(t.Context(), s.Addr(), client.Options{Transport: tr, Logger: quiet()})
		if err == nil || !strings.Contains(err.Error(), "TCP connections: 1 more to the") || !client.RetrySafe(err) {
			t.Errorf("%s: %v, want the limit and that a retry is safe", tr, err)
		}
	}
	c := dial(t, s, client.Options{})
	if in := c.Info(); in.Transport != model.TransportSHM {
		t.Errorf("on %s", in.Transport)
	}
	rest.Close()
	if c := dial(t, s, client.Options{Transport: model.TransportSoft, Policy: "offload"}); c.Info().Transport != model.TransportSoft {
		t.Errorf("on %s", c.Info().Transport)
	}
	if u := s.streams.conns.Use(); u.Used == 0 || u.Refused == 0 {
		t.Errorf("soft's queue pairs are not counted: %+v", u)
	}
}
