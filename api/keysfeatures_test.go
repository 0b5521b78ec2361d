package api

import (
	"slices"
	"testing"

	"google.golang.org/grpc/codes"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/internal/access"
	"github.com/catfish-index/catfish/internal/store"
)

// Keys apply to features and to collections, too.
func TestKeysOfFeatures(t *testing.T) {
	keys, _, k := testKeys(t, access.Entry{Roles: []string{"places:read"}},
		access.Entry{Roles: []string{"places:write"}}, access.Entry{Roles: []string{"*:admin"}})
	c := startFeatures(t, store.Options{}, WithKeys(keys))
	for i, want := range []struct {
		read, write, other, manage codes.Code
		lists                      []string
	}{
		{codes.OK, codes.PermissionDenied, codes.PermissionDenied, codes.PermissionDenied, []string{"places"}},
		{codes.OK, codes.OK, codes.PermissionDenied, codes.PermissionDenied, []string{"places"}},
		{codes.OK, codes.OK, codes.OK, codes.OK, []string{"boxes", "places", "plane"}},
	} {
		ctx := withKey(testContext(t), k[i])
		check := func(what string, err error, want codes.Code) {
			t.Helper()
			if got := detailsOf(err).code; got != want {
				t.Errorf("key %d: %s: %v, want %v", i, what, err, want)
			}
		}
		_, err := c.FeatureServiceClient.Count(ctx, &catfishv1.FeatureServiceCountRequest{Collection: "places"})
		check("count", err, want.read)
		_, err = c.FeatureServiceClient.Count(ctx, &catfishv1.FeatureServiceCountRequest{Collection: "plane"})
		check("count of another", err, want.other)
		_, err = c.FeatureServiceClient.DeleteWhere(ctx, &catfishv1.FeatureServiceDeleteWhereRequest{Collection: "places", Query: &catfishv1.Query{Filter: "false"}})
		check("delete where", err, want.write)
		_, err = c.colls.Describe(ctx, &catfishv1.CollectionServiceDescribeRequest{Name: "places"})
		check("describe", err, want.read)
		_, err = c.colls.Describe(ctx, &catfishv1.CollectionServiceDescribeRequest{Name: "plane"})
		check("describe another", err, want.other)
		_, err = c.colls.Create(ctx, &catfishv1.CollectionServiceCreateRequest{Name: "new"})
		check("create", err, want.manage)
		_, err = c.colls.Swap(ctx, &catfishv1.CollectionServiceSwapRequest{Name: "new", Other: "places"})
		check("swap", err, want.manage)
		_, err = c.colls.Drop(ctx, &catfishv1.CollectionServiceDropRequest{Name: "new"})
		check("drop", err, want.manage)
		l, err := c.colls.List(ctx, &catfishv1.CollectionServiceListRequest{})
		check("list", err, codes.OK)
		var names []string
		for _, c := range l.GetCollections() {
			names = append(names, c.GetName())
		}
		if !slices.Equal(names, want.lists) {
			t.Errorf("key %d: lists %v, want %v", i, names, want.lists)
		}
	}
}
