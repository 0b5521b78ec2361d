package server

import (
	"errors"
	"math"
	"testing"

	"github.com/catfish-index/catfish/catfish/client"
	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/store/query"
	"github.com/catfish-index/catfish/internal/wire"
)

// Malformed requests are errors, by every transport, and change nothing.
func TestHostileFields(t *testing.T) {
	s := startFeatures(t, Options{})
	c, err := s.store.Lookup(testFeatures)
	if err != nil {
		t.Fatal(err)
	}
	head := func(arg uint32) []byte { return wire.AppendHead(nil, c.Number, arg) }
	find := func(flags byte, rest ...byte) []byte {
		return append(append(append(head(0), 0, 0, 0, 0, 0, 0, wire.NoArea, flags), 0, 0, 0, 0), rest...)
	}
	for _, p := range []path{{transport: model.TransportTCP, policy: "tcp"}, {transport: model.TransportSHM}, {transport: model.TransportSoft}} {
		by := dial(t, s, p.options())
		for _, a := range []struct {
			kind    fastmsg.Kind
			payload []byte
			want    error
		}{
			{wire.KindPick, nil, model.ErrProtocol},
			{wire.KindPick, head(0), model.ErrProtocol},
			{wire.KindPick, append(head(1), 0, 0), model.ErrProtocol},               // no fields
			{wire.KindPick, append(head(1), 4, 0, 0), model.ErrProtocol},            // unknown flag
			{wire.KindPick, append(head(1), 0, 0, 0), model.ErrProtocol},            // no id
			{wire.KindPick, append(head(1), 0, 0xff, 0xff), model.ErrProtocol},      // too many fields
			{wire.KindPick, append(head(1), 0, 2, 0, 1, 0, 'a'), model.ErrProtocol}, // one is missing
			{wire.KindPick, append(head(1), 0, 0, 0, 9, 0, 'a'), model.ErrProtocol},
			{wire.KindPick, append(head(1), 0, 0, 0, 1, 0, 'a', 'b'), model.ErrProtocol},
			{wire.KindPick, append(head(math.MaxUint32), 0, 0, 0, 1, 0, 'a'), model.ErrProtocol},
			{wire.KindPick, append(wire.AppendHead(nil, 0, 1), 0, 0, 0, 1, 0, 'a'), model.ErrKind},
			{wire.KindPick, append(head(1), 3, 0, 0, 1, 0, 'a'), nil},
			{wire.KindFind, find(wire.WithFields), model.ErrProtocol},
			{wire.KindFind, find(wire.WithFields, 0, 1, 0), model.ErrProtocol},
			{wire.KindFind, find(wire.WithFields, 3, 0, 0), nil},
			{wire.KindFind, find(wire.WithFields, 3, 0, 0, 1), model.ErrProtocol},
			{wire.KindNear, append(head(1|wire.NearFields), make([]byte, 24)...), model.ErrProtocol},
			{wire.KindNear, append(head(1|wire.NearFields), make([]byte, 27)...), nil},
			{wire.KindNear, append(head(query.MaxNearest+1|wire.NearFields), make([]byte, 27)...), model.ErrProtocol},
			{wire.KindDescribe, nil, model.ErrProtocol},
			{wire.KindDescribe, wire.AppendHead(nil, 0, 0), model.ErrKind},
			{wire.KindDescribe, wire.AppendHead(nil, 77, 0), model.ErrUnknownCollection},
			{wire.KindSwap, nil, model.ErrProtocol},
			{wire.KindSwap, []byte{255, 255, 'a'}, model.ErrProtocol},
			{wire.KindSwap, append(wire.AppendText(wire.AppendText(nil, "a"), "b"), 0), model.ErrProtocol},
			{wire.KindSwap, wire.AppendText(wire.AppendText(nil, "a"), "b"), model.ErrUnknownCollection},
			{wire.KindSwap, wire.AppendText(wire.AppendText(nil, testFeatures), testFeatures), model.ErrProtocol},
		} {
			if _, err := client.RawCall(t.Context(), by, wire.RawMessage{Kind: a.kind, Body: a.payload}); !errors.Is(err, a.want) {
				t.Errorf("%s: kind %d, payload %x: %v, want %v", p.transport, a.kind, a.payload, err, a.want)
			}
		}
	}
}
