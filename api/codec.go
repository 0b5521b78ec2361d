package api

import (
	"fmt"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
)

// maxRequestBytes bounds all requests but those of a Load, before they are
// decoded: an empty rectangle is 2 bytes on the wire and 80 in memory, and
// only a Load counts that (decodedRatio). A SearchMany of MaxQueries takes
// 40 KB; this is six times as much, so that one of too many queries gets the
// better error.
const maxRequestBytes = 256 << 10

// codec is gRPC's own, with this bound. Messages that are in their wire form
// already it sends as they are.
type codec struct{ encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2(proto.Name)} }

func (c codec) Marshal(m any) (mem.BufferSlice, error) {
	if w, ok := m.(*wire); ok {
		return w.buffers(), nil
	}
	return c.CodecV2.Marshal(m)
}

func (c codec) Unmarshal(data mem.BufferSlice, m any) error {
	if s, ok := m.(*sized); ok {
		return s.unmarshal(c, data)
	}
	if _, ok := m.(*catfishv1.LoadRequest); !ok && data.Len() > maxRequestBytes {
		return fmt.Errorf("request of %d bytes, limit %d", data.Len(), maxRequestBytes)
	}
	return c.CodecV2.Unmarshal(data, m)
}
