package client

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/placement"
)

// Statistics of several groups are those of each, and their sums; a check is made of each.
func TestStatsOfSeveralGroups(t *testing.T) {
	k := startCluster(t, "a", "b", "c")
	c := k.dial(t, k.addr(0), Options{})
	ctx := t.Context()
	if err := errors.Join(c.CreateFeatures(ctx, testFeatures, model.FeaturesOptions{}), c.CreateRecords(ctx, testRecords, model.RecordsOptions{})); err != nil {
		t.Fatal(err)
	}
	f := features(t, c)
	r, err := c.Records(testRecords)
	if err != nil {
		t.Fatal(err)
	}
	const ids = 60
	for i := range ids {
		if _, _, err := f.Put(ctx, model.Feature{ID: fmt.Sprint(i), Geometry: orb.Point{float64(i), 1}}, model.Condition{}); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Put(ctx, model.Record{Key: testKey(i)}, model.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	st, err := c.Stats(ctx)
	if err != nil || len(st.Groups) != 3 {
		t.Fatalf("%+v, %v", st, err)
	}
	var tree, features, records, nodes int
	var limit int64
	for i, g := range k.groups {
		of := st.Groups[g.name]
		if of == nil || of.Addr != k.addr(i) || of.Features[testFeatures].Tree.Len == 0 {
			t.Fatalf("group %s: %+v", g.name, of)
		}
		tree, features = tree+of.Features[testFeatures].Tree.Len, features+of.Features[testFeatures].Records.Index.Items
		records, nodes, limit = records+of.Records[testRecords].Index.Items, nodes+of.Features[testFeatures].Tree.Nodes[0], limit+of.Memory.Limit
	}
	all := st.Features[testFeatures]
	if tree != ids || all.Tree.Len != ids || features != ids || all.Records.Index.Items != ids || records != ids || st.Records[testRecords].Index.Items != ids {
		t.Errorf("%d, %d and %d in groups, of all %+v, %+v", tree, features, records, all, st.Records[testRecords])
	}
	if all.Tree.Nodes[0] != nodes || all.Tree.Height == 0 || st.Memory.Limit != limit || st.CPUSeconds == 0 || st.Addr != "" {
		t.Errorf("sums: %+v", st)
	}
	if m := st.Map; m == nil || m.Version != 1 || len(m.Groups) != 3 || m.Groups[1].Name != "b" || m.Groups[0].Slots+m.Groups[1].Slots+m.Groups[2].Slots != placement.Slots {
		t.Errorf("the map: %+v", m)
	}
	d, err := c.Collection(testFeatures)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Check(ctx); err != nil {
		t.Error(err)
	}
	if e, err := c.Collection("none"); err != nil {
		t.Fatal(err)
	} else if err := e.Check(ctx); !errors.Is(err, model.ErrUnknownCollection) || !strings.Contains(err.Error(), "group ") {
		t.Errorf("a check of no collection: %v", err)
	}
}
