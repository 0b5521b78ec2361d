package api

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	catfishv1 "github.com/catfish-index/catfish/api/catfish/v1"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/disk"
)

// loadDetail returns the counts in the error of a Load.
func loadDetail(err error) *catfishv1.FeatureServiceLoadResponse {
	for _, m := range status.Convert(err).Details() {
		if m, ok := m.(*catfishv1.FeatureServiceLoadResponse); ok {
			return m
		}
	}
	return nil
}

// someBad are 20 features of which every third is not valid.
func someBad() (m *catfishv1.FeatureServiceLoadRequest, bad int) {
	m = &catfishv1.FeatureServiceLoadRequest{Collection: "places"}
	for i := range 20 {
		f := pbPoint(fmt.Sprint(i), 1, 2, "")
		switch {
		case i%6 == 2:
			f.Geometry = geojson(pointText(1, 91))
			bad++
		case i%3 == 2:
			f.Properties = "no JSON"
			bad++
		}
		m.Features = append(m.Features, f)
	}
	return m, bad
}

func TestLoadCountsInvalidFeatures(t *testing.T) {
	for _, dir := range []string{"", t.TempDir()} { // written by the caller, and by the commit leader
		c := startFeatures(t, store.Options{Dir: dir, Sync: disk.SyncAlways})
		m, bad := someBad()
		again := &catfishv1.FeatureServiceLoadRequest{Features: []*catfishv1.Feature{
			pbPoint("0", 5, 6, ""), pbPoint("0", 7, 8, ""), {},
		}}
		res, err := c.loadFeatures(testContext(t), m, again)
		if err != nil || res.GetReceived() != 23 || res.GetStored() != uint64(23-bad) || res.GetRejected() != uint64(bad) {
			t.Fatalf("%v, %v", res, err)
		}
		if n := len(res.GetErrors()); n != min(bad, loadErrors) {
			t.Fatalf("%d errors are told", n)
		}
		if e := res.GetErrors()[0]; e.GetIndex() != 2 || e.GetId() != "2" || e.GetReason() != ReasonBadCoordinate ||
			!strings.Contains(e.GetMessage(), "91") {
			t.Errorf("the first error is %v", e)
		}
		if f := c.get(t, "0"); f.GetGeojson() != pointText(7, 8) {
			t.Errorf("of several the last one does not stay: %v", f)
		}
	}
}

func TestStrictLoad(t *testing.T) {
	c := startFeatures(t, store.Options{})
	m, _ := someBad()
	m.Strict = true
	_, err := c.loadFeatures(testContext(t), m)
	d, res := detailsOf(err), loadDetail(err)
	if d.code != codes.InvalidArgument || d.reason != ReasonBadCoordinate || d.field != "features[2].geojson" {
		t.Errorf("%v: %+v", err, d)
	}
	if res.GetReceived() != 3 || res.GetStored() != 2 || res.GetRejected() != 1 {
		t.Errorf("counted %v", res)
	}
	if !strings.Contains(err.Error(), `feature 2 of the stream (id "2")`) {
		t.Error(err)
	}
}

func TestLoadErrors(t *testing.T) {
	c := startFeatures(t, store.Options{})
	ctx := testContext(t)
	many := &catfishv1.FeatureServiceLoadRequest{Collection: "places", Features: make([]*catfishv1.Feature, MaxLoadFeatures+1)}
	for i := range many.Features {
		many.Features[i] = &catfishv1.Feature{}
	}
	for name, tc := range map[string]struct {
		reqs   []*catfishv1.FeatureServiceLoadRequest
		code   codes.Code
		reason string
		field  string
		stored uint64
	}{
		"no message":  {nil, codes.InvalidArgument, ReasonBadField, "collection", 0},
		"no name":     {[]*catfishv1.FeatureServiceLoadRequest{{}}, codes.InvalidArgument, ReasonBadField, "collection", 0},
		"unknown":     {[]*catfishv1.FeatureServiceLoadRequest{{Collection: "none"}}, codes.NotFound, ReasonNoCollection, "", 0},
		"other later": {[]*catfishv1.FeatureServiceLoadRequest{{Collection: "places", Features: []*catfishv1.Feature{{}}}, {Collection: "plane"}}, codes.InvalidArgument, ReasonBadField, "collection", 1},
		"too many":    {[]*catfishv1.FeatureServiceLoadRequest{many}, codes.InvalidArgument, ReasonBadField, "features", 0},
		"too large": {[]*catfishv1.FeatureServiceLoadRequest{{Collection: "places", Features: []*catfishv1.Feature{
			{Properties: `"` + strings.Repeat("x", DefaultMaxMessageBytes) + `"`}}}}, codes.ResourceExhausted, ReasonMessageTooLarge, "", 0},
	} {
		_, err := c.loadFeatures(ctx, tc.reqs...)
		d := detailsOf(err)
		if d.code != tc.code || d.reason != tc.reason || d.field != tc.field || loadDetail(err).GetStored() != tc.stored {
			t.Errorf("%s: %v: %+v, %v", name, err, d, loadDetail(err))
		}
	}
	if u := c.use(t, ofUploads); u.Used != 0 {
		t.Errorf("uploads hold %d bytes", u.Used)
	}
}

// TestLoadIntoFullStore: an upload ends when the store takes no more, and
// reports how many features it took.
func TestLoadIntoFullStore(t *testing.T) {
	c := startFeatures(t, store.Options{SlabBytes: 4 << 20})
	reqs := []*catfishv1.FeatureServiceLoadRequest{{Collection: "places"}}
	for range 100 {
		reqs = append(reqs, &catfishv1.FeatureServiceLoadRequest{Features: []*catfishv1.Feature{
			{Properties: `{"x":"` + strings.Repeat("x", 100_000) + `"}`},
		}})
	}
	_, err := c.loadFeatures(testContext(t), reqs...)
	d, stored := detailsOf(err), loadDetail(err).GetStored()
	if d.code != codes.ResourceExhausted || d.reason != ReasonSlabFull || d.retry {
		t.Errorf("%v: %+v", err, d)
	}
	if of := must[*store.Collection](t)(c.store.Collection("places")); stored == 0 || stored != uint64(of.Len()) {
		t.Errorf("%d are reported, %d are stored", stored, of.Len())
	}
	if u := c.use(t, ofUploads); u.Used != 0 {
		t.Errorf("uploads hold %d bytes", u.Used)
	}
}
