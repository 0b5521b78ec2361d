package api

import (
	"strings"
	"testing"

	"google.golang.org/grpc/status"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/internal/store"
)

func TestWithoutPackages(t *testing.T) {
	for text, want := range map[string]string{
		"":                      "",
		`kv: no such key`:       "no such key",
		`a: store: kv: b (c)`:   "a: b (c)",
		`(disk: b) xstore: c`:   "(b) xstore: c",
		`"kv: a" kv: b`:         `"kv: a" b`,
		`"a\" kv: b": kv: c`:    `"a\" kv: b": c`,
		"of kv:\ncatfish: x: ö": "of kv:\nx: ö",
	} {
		if got := withoutPackages(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// Texts speak of features, not of keys, and name no package.
func TestErrorTexts(t *testing.T) {
	c := startFeatures(t, store.Options{})
	ctx := testContext(t)
	get := func(id string) error {
		_, err := c.Get(ctx, &catfishv1.FeatureServiceGetRequest{Collection: "places", Id: id})
		return err
	}
	c.put(t, pbPoint("a", 1, 1, ""))
	_, patch := c.Patch(ctx, &catfishv1.FeatureServicePatchRequest{Collection: "places", Id: "none", Properties: `{}`})
	_, exists := c.Put(ctx, &catfishv1.FeatureServicePutRequest{Collection: "places", Feature: pbPoint("a", 1, 1, ""), IfAbsent: true})
	_, query := c.Count(ctx, &catfishv1.FeatureServiceCountRequest{Collection: "places", Query: &catfishv1.Query{Filter: "properties."}})
	_, boxes := c.Stats(ctx, &catfishv1.StatsRequest{Collection: "zz"})
	for _, x := range []struct {
		err  error
		want string
	}{
		{get("none"), `no feature "none" in "places"`},
		{get(""), "id: required, but missing"},
		{patch, `no feature "none" in "places"`},
		{exists, `feature "a" is in "places" already`},
		{query, "query.filter: invalid expression: column "},
		{boxes, "collection"},
	} {
		text := status.Convert(x.err).Message()
		if x.err == nil || !strings.HasPrefix(text, x.want) && x.err != boxes || withoutPackages(text) != text {
			t.Errorf("%q, want %q", text, x.want)
		}
	}
}
