package api

import (
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/rstar"
)

// FuzzInsert passes the handler any message that decodes: it stores one valid
// object, or returns InvalidArgument or NotFound and stores none.
func FuzzInsert(f *testing.F) {
	for _, m := range []*catfishv1.InsertRequest{
		{},
		{Collection: "rivers"},
		{Item: &catfishv1.Item{Id: 1}},
		{Item: pbItem(rstar.Item{ID: 1, Rect: world})},
	} {
		b, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var req catfishv1.InsertRequest
		if proto.Unmarshal(b, &req) != nil {
			return
		}
		col := treeOf(t)
		s := &service{backend: trees{"default": col}.alone(), options: newOptions(nil)}
		_, err := s.Insert(t.Context(), &req)
		switch status.Code(err) {
		case codes.OK:
			if col.Len() != 1 || allOf(col)[0].Rect.Validate() != nil {
				t.Fatalf("stored %v", allOf(col))
			}
		case codes.InvalidArgument, codes.NotFound:
			if col.Len() != 0 {
				t.Fatalf("%v, but stored %v", err, allOf(col))
			}
		default:
			t.Fatal(err)
		}
	})
}
