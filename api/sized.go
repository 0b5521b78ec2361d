package api

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
)

// sized is a message to be received. One that is too large is not decoded, and
// leaves an error with details: errors of the codec itself would reach the
// client as INTERNAL, as a text. Beyond twice WithMaxMessageBytes gRPC itself
// ends the call before that, without details (codec.received).
type sized struct {
	m   any
	err error
}

// Payload returns the message of a stats.InPayload of a Server's calls, for stats
// handlers (WithGRPC), to which gRPC gives a wrapper. nil: it was refused for its size.
func Payload(received any) any {
	s, ok := received.(*sized)
	switch {
	case !ok:
		return received
	case s.err != nil:
		return nil
	}
	return s.m
}

// largeRequest reports whether m has a geometry or many objects. Such a message
// may be as large as the server accepts messages.
func largeRequest(m any) bool {
	switch m.(type) {
	case *frame: // The primary knows which it is.
		return true
	case *catfishv1.LoadRequest, *catfishv1.FeatureServicePutRequest, *catfishv1.FeatureServicePatchRequest,
		*catfishv1.FeatureServiceDeleteWhereRequest, *catfishv1.FeatureServiceLoadRequest,
		*catfishv1.FeatureServiceSearchRequest, *catfishv1.FeatureServiceCountRequest,
		*catfishv1.FeatureServiceWatchRequest:
		return true
	}
	return false
}

func (s *sized) unmarshal(c codec, data mem.BufferSlice) error {
	if n, most := data.Len(), c.limit(s.m); n > most {
		s.err = tooLarge(n, most)
		return nil
	}
	if f, ok := s.m.(*frame); ok {
		f.b = data.Materialize()
		return nil
	}
	if _, ok := s.m.(*catfishv1.FeatureServiceLoadRequest); ok {
		if n := countField(data.Materialize(), loadFeaturesField); n > MaxLoadFeatures {
			s.err = &fieldError{"features", ReasonBadField,
				fmt.Errorf("has %d elements, want at most %d", n, MaxLoadFeatures)}
			return nil
		}
	}
	if _, ok := s.m.(*catfishv1.FeatureServiceWatchRequest); ok {
		if n := countField(data.Materialize(), watchAreasField); n > MaxWatchAreas {
			s.err = &fieldError{"areas", ReasonBadField,
				fmt.Errorf("has %d elements, want at most %d", n, MaxWatchAreas)}
			return nil
		}
	}
	return c.CodecV2.Unmarshal(data, s.m)
}

// loadFeaturesField is the number of FeatureServiceLoadRequest.features.
const loadFeaturesField = 3

// watchAreasField is the number of FeatureServiceWatchRequest.areas.
const watchAreasField = 5

// countField counts a field of a message, as far as the message can be parsed.
func countField(b []byte, number protowire.Number) (n int) {
	for len(b) > 0 {
		num, _, size := protowire.ConsumeField(b)
		if size < 0 {
			return n
		}
		if num == number {
			n++
		}
		b = b[size:]
	}
	return n
}

// withSizes is a service whose unary calls receive sized messages. For streams,
// callStream.RecvMsg does that.
func withSizes(d grpc.ServiceDesc) *grpc.ServiceDesc {
	methods := make([]grpc.MethodDesc, len(d.Methods))
	for i, m := range d.Methods {
		handle := m.Handler
		m.Handler = func(srv any, ctx context.Context, dec func(any) error, in grpc.UnaryServerInterceptor) (any, error) {
			growStack()
			return handle(srv, ctx, func(m any) error { return receiveSized(dec, m) }, in)
		}
		methods[i] = m
	}
	d.Methods = methods
	return &d
}

// receiveSized receives m.
func receiveSized(receive func(any) error, m any) error {
	s := sized{m: m}
	if err := receive(&s); err != nil {
		return err
	}
	if s.err != nil {
		return statusOf("", s.err)
	}
	return nil
}
