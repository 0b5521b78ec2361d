package api

import (
	"fmt"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
)

// maxRequestBytes bounds all requests but those of a Load, before they are
// decoded: an empty rectangle is 2 bytes on the wire and 80 in memory, and
// only a Load counts that (decodedRatio). A SearchMany of MaxQueries takes
// 40 KB; this is six times as much, so that one of too many queries gets the
// better error.
const maxRequestBytes = 256 << 10

// received is how much of a message that is too large gRPC takes nevertheless, for
// each byte of WithMaxMessageBytes: so far its refusal has details. Beyond, gRPC ends
// the call before anything here sees it, with a text that names its limit.
const received = 2

// codec is gRPC's own, with these bounds. Messages that are in their wire form
// already it sends as they are.
type codec struct {
	encoding.CodecV2
	most int // of messages with geometries or many objects
}

func newCodec(most int) codec { return codec{encoding.GetCodecV2(proto.Name), most} }

// limit of a message.
func (c codec) limit(m any) int {
	if largeRequest(m) {
		return c.most
	}
	return min(c.most, maxRequestBytes)
}

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
	if most := c.limit(m); data.Len() > most {
		return fmt.Errorf("request of %d bytes, limit %d", data.Len(), most)
	}
	return c.CodecV2.Unmarshal(data, m)
}
