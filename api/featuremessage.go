package api

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/paulmach/orb/encoding/wkb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/timestamppb"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/internal/store"
)

// Features in answers
//
// Answers are written in the wire form of catfish.v1.Feature, from the bytes in
// the collection's memory, without an object for each feature: messages that
// generated code would marshal to the same bytes. featureToProto does the same
// in plain Go, for calls that answer with one feature.
//
//	1 id          bytes
//	2 geojson     bytes, or 3 wkb
//	4 properties  bytes
//	5 revision    varint
//	6 expires     {1 seconds varint, 2 nanos varint}
//	7 distance    64 bits

// maxFields bounds Selection.fields: each property is compared with them.
const maxFields = 256

// selection is a Selection that was checked.
type selection struct {
	format       catfishv1.GeometryFormat
	fields       []string
	noProperties bool
}

func selectionOf(s *catfishv1.Selection) (selection, error) {
	if n := len(s.GetFields()); n > maxFields {
		return selection{}, &fieldError{"selection.fields", ReasonBadField,
			fmt.Errorf("has %d elements, want at most %d", n, maxFields)}
	}
	f := s.GetGeometryFormat()
	switch f {
	case catfishv1.GeometryFormat_GEOMETRY_FORMAT_UNSPECIFIED:
		f = catfishv1.GeometryFormat_GEOMETRY_FORMAT_GEOJSON
	case catfishv1.GeometryFormat_GEOMETRY_FORMAT_GEOJSON,
		catfishv1.GeometryFormat_GEOMETRY_FORMAT_WKB,
		catfishv1.GeometryFormat_GEOMETRY_FORMAT_NONE:
	default:
		return selection{}, unknownEnum("selection.geometry_format", int32(f))
	}
	return selection{format: f, fields: s.GetFields(), noProperties: s.GetNoProperties()}, nil
}

func unknownEnum(field string, n int32) error {
	return &fieldError{field, ReasonBadField, fmt.Errorf("has the unknown value %d", n)}
}

// appendFeature appends the wire form of a Feature.
func (s *selection) appendFeature(dst []byte, f *store.Found) ([]byte, error) {
	if len(f.ID) > 0 {
		dst = protowire.AppendTag(dst, 1, protowire.BytesType)
		dst = protowire.AppendBytes(dst, f.ID)
	}
	if f.View.Type() != 0 {
		switch s.format {
		case catfishv1.GeometryFormat_GEOMETRY_FORMAT_GEOJSON:
			dst = protowire.AppendTag(dst, 2, protowire.BytesType)
			at := len(dst)
			dst = prefixLength(f.View.AppendGeometryJSON(dst), at)
		case catfishv1.GeometryFormat_GEOMETRY_FORMAT_WKB:
			b, err := wkb.Marshal(f.View.Geometry())
			if err != nil {
				return dst, err
			}
			dst = protowire.AppendTag(dst, 3, protowire.BytesType)
			dst = protowire.AppendBytes(dst, b)
		}
	}
	if !s.noProperties && f.View.Properties() != nil {
		dst = protowire.AppendTag(dst, 4, protowire.BytesType)
		at := len(dst)
		dst = f.View.AppendProperties(dst, s.fields...)
		if !utf8.Valid(dst[at:]) { // otherwise no client could read the message
			dst = append(dst[:at], bytes.ToValidUTF8(dst[at:], replacement)...)
		}
		dst = prefixLength(dst, at)
	}
	if f.Revision != 0 {
		dst = protowire.AppendTag(dst, 5, protowire.VarintType)
		dst = protowire.AppendVarint(dst, f.Revision)
	}
	if f.Expiry != 0 {
		dst = protowire.AppendTag(dst, 6, protowire.BytesType)
		at := len(dst)
		dst = prefixLength(appendTimestamp(dst, timestamppb.New(f.Expires())), at)
	}
	if f.Distance != 0 {
		dst = protowire.AppendTag(dst, 7, protowire.Fixed64Type)
		dst = protowire.AppendFixed64(dst, floatBits(f.Distance))
	}
	return dst, nil
}

// replacement stands for bytes that are not UTF-8.
var replacement = []byte("\uFFFD")

func appendTimestamp(dst []byte, t *timestamppb.Timestamp) []byte {
	if t.Seconds != 0 {
		dst = protowire.AppendTag(dst, 1, protowire.VarintType)
		dst = protowire.AppendVarint(dst, uint64(t.Seconds))
	}
	if t.Nanos != 0 {
		dst = protowire.AppendTag(dst, 2, protowire.VarintType)
		dst = protowire.AppendVarint(dst, uint64(t.Nanos))
	}
	return dst
}

// prefixLength inserts the length of b[at:] before it.
func prefixLength(b []byte, at int) []byte {
	var prefix [10]byte
	p := protowire.AppendVarint(prefix[:0], uint64(len(b)-at))
	b = append(b, p...)
	copy(b[at+len(p):], b[at:len(b)-len(p)])
	copy(b[at:], p)
	return b
}

// featureToProto is a Feature for generated code.
func (s *selection) featureToProto(f *store.Found) (*catfishv1.Feature, error) {
	p := &catfishv1.Feature{Id: string(f.ID), Revision: f.Revision, Distance: f.Distance}
	if f.View.Type() != 0 {
		switch s.format {
		case catfishv1.GeometryFormat_GEOMETRY_FORMAT_GEOJSON:
			p.Geometry = &catfishv1.Feature_Geojson{Geojson: string(f.View.AppendGeometryJSON(nil))}
		case catfishv1.GeometryFormat_GEOMETRY_FORMAT_WKB:
			b, err := wkb.Marshal(f.View.Geometry())
			if err != nil {
				return nil, err
			}
			p.Geometry = &catfishv1.Feature_Wkb{Wkb: b}
		}
	}
	if !s.noProperties && f.View.Properties() != nil {
		p.Properties = string(bytes.ToValidUTF8(f.View.AppendProperties(nil, s.fields...), replacement))
	}
	if f.Expiry != 0 {
		p.Expires = timestamppb.New(f.Expires())
	}
	return p, nil
}
