package server

import (
	"testing"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/wire"
)

// TestAlikeRequests: only requests of one kind, and of one collection or its shards, are
// carried out together. One that is alone is left to be decoded and checked once.
func TestAlikeRequests(t *testing.T) {
	s := startServer(t, Options{SlabBytes: 1 << 20, Collections: []string{"a", "b"}, Records: []string{"r", "s"}, RecordShards: 2})
	number := func(name string) uint32 {
		c, err := s.store.LookupShard(name)
		if err != nil {
			t.Fatal(err)
		}
		return c.Number
	}
	request := func(kind fastmsg.Kind, number uint32) fastmsg.Request {
		return fastmsg.Request{Message: fastmsg.Message{Kind: kind, Payload: wire.AppendHead(nil, number, 0)}}
	}
	search := func(name string) fastmsg.Request { return request(wire.KindSearch, number(name)) }
	get := func(name string) fastmsg.Request { return request(wire.KindGet, number(name)) }
	h := handler{service: service{s: s, transport: model.TransportSoft}}
	for what, c := range map[string]struct {
		reqs []fastmsg.Request
		want int
	}{
		"searches":                 {[]fastmsg.Request{search("a"), search("a"), search("a")}, 3},
		"searches of two":          {[]fastmsg.Request{search("a"), search("a"), search("b")}, 2},
		"a search, alone":          {[]fastmsg.Request{search("a"), search("b"), search("b")}, 0},
		"a search and a get":       {[]fastmsg.Request{search("a"), get("r/0")}, 0},
		"gets of one shard":        {[]fastmsg.Request{get("r/1"), get("r/1")}, 2},
		"gets of two shards":       {[]fastmsg.Request{get("r/1"), get("r/0"), get("r/1"), get("s/1")}, 3},
		"of no collection":         {[]fastmsg.Request{request(wire.KindGet, 77), request(wire.KindGet, 77)}, 0},
		"of a collection and none": {[]fastmsg.Request{get("r/0"), get("r/0"), request(wire.KindGet, 77)}, 2},
	} {
		if got := len(h.alike(c.reqs)); got != c.want {
			t.Errorf("%s: %d are alike, want %d", what, got, c.want)
		}
	}
}
