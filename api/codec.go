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

// received is how many bytes of a message that is too large gRPC receives nevertheless,
// for each byte of WithMaxMessageBytes. Up to there the refusal has details. Beyond it,
// gRPC ends the call before this package sees the message, with a text that names gRPC's
// limit.
const received = 2

// codec is gRPC's own, with these bounds. It sends messages that are already in
// their wire form unchanged.
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
	if f, ok := m.(*frame); ok {
		return f.buffers(), nil
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
