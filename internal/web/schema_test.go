package web

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/catfish-index/catfish/internal/store"
)

// The schema has properties as an object, as GDAL needs it, until a feature has null.
func TestSchemaOfGDAL(t *testing.T) {
	w := newSite(t, Options{})
	w.put("empty", store.Feature{ID: "a", Properties: json.RawMessage(`{"n":1,"mixed":"x"}`)})
	w.put("empty", store.Feature{ID: "b", Properties: json.RawMessage(`{"mixed":[]}`)})
	described := func() bool { return href(w.links("/collections/empty"), "describedBy", typeSchema) != "" }
	if !described() {
		t.Error("GDAL would not find the property n, if it were not on the first page")
	}
	typeOf := func() any { return lookup(t, w.json("/collections/empty/schema"), "properties", "properties", "type") }
	if typ := typeOf(); typ != "object" {
		t.Errorf("type %v", typ)
	}
	if typ := lookup(t, w.json("/collections/empty/schema"), "properties", "properties", "properties", "mixed", "type"); fmt.Sprint(typ) != "[array string]" {
		t.Errorf("mixed is %v", typ)
	}
	w.put("empty", store.Feature{ID: "c"})
	if typ := typeOf(); fmt.Sprint(typ) != "[object null]" {
		t.Errorf("type %v with a feature whose properties are null", typ)
	}
	w.put("empty", store.Feature{ID: "c", Properties: json.RawMessage(`{"n":null}`)})
	if described() {
		t.Error("GDAL would take n for a text")
	}
	if typ := typeOf(); typ != "object" {
		t.Errorf("type %v", typ)
	}
}

// A collection with all properties in each feature needs no workaround.
func TestSchemaOfTable(t *testing.T) {
	w := newSite(t, Options{})
	w.points(3)
	if l := href(w.links("/collections/empty"), "describedBy", ""); l != "" {
		t.Errorf("there is a link to %s", l)
	}
}
