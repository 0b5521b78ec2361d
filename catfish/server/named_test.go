package server

import (
	"errors"
	"testing"

	"github.com/catfish-index/catfish/catfish/client"
	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/rstar"
)

// A request with a name is carried out like one without. A name that is none is refused, and
// so is the repetition of a write that the server cannot recognise.
func TestNamedRequests(t *testing.T) {
	overMessages(t, Options{}, 1, func(t *testing.T, s *Server, c *client.Client) {
		insert := wire.AppendItem(wire.AppendHead(nil, 0, 0), rstar.Item{Rect: square(0, 0), ID: 1})
		named := func(n wire.Name, k fastmsg.Kind, p []byte) []byte { return wire.AppendNamed(nil, &n, k, p) }
		flags := named(wire.Name{Client: 1}, wire.KindInsert, insert)
		flags[25] = 2
		for name, a := range map[string]struct {
			payload []byte
			want    error
		}{
			"an insertion":      {named(wire.Name{Client: 1, Number: 1}, wire.KindInsert, insert), nil},
			"of boxes, again":   {named(wire.Name{Client: 1, Number: 1, Again: true}, wire.KindInsert, insert), model.ErrNotPermitted},
			"empty":             {nil, model.ErrProtocol},
			"cut off":           {named(wire.Name{Client: 1}, wire.KindInsert, nil)[:wire.NameBytes-1], model.ErrProtocol},
			"of no request":     {named(wire.Name{Client: 1}, wire.KindInsert, nil), model.ErrProtocol},
			"without a client":  {named(wire.Name{Number: 1}, wire.KindInsert, insert), model.ErrProtocol},
			"of a search":       {named(wire.Name{Client: 1}, wire.KindSearch, insert), model.ErrProtocol},
			"of one in another": {named(wire.Name{Client: 1}, wire.KindNamed, insert), model.ErrProtocol},
			"with a flag":       {flags, model.ErrProtocol},
		} {
			before := tree(t, s).Len()
			_, err := client.RawCall(t.Context(), c, wire.RawMessage{Kind: wire.KindNamed, Body: a.payload})
			if !errors.Is(err, a.want) || err != nil && a.want == nil {
				t.Errorf("%s: %v, want %v", name, err, a.want)
			}
			if more := tree(t, s).Len() - before; (more == 1) != (a.want == nil) {
				t.Errorf("%s: %d boxes more", name, more)
			}
		}
	})
}
