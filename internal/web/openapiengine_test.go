package web

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
)

// The document's schema of a snapshot has the names that are sent, and no other.
func TestEngineSchema(t *testing.T) {
	w := newSite(t, Options{Engine: newFakeRoom()})
	doc := w.json("/api")
	full := EngineSnapshot{
		At: time.Unix(1, 0), Server: EngineServer{Channels: []EngineChannels{{Name: "shm"}}, Services: []EngineService{{Name: "http"}}}, Run: &EngineRun{State: "running"},
		Clients: []EngineClient{{Name: "load-1", Histogram: []int64{1}}}, Ended: "it ended",
		Map: &model.StoreMap{Groups: []model.GroupSlots{{Name: "a"}}, Moves: []model.GroupMoves{{From: "a"}}},
	}
	b, err := json.Marshal(full)
	if err != nil {
		t.Fatal(err)
	}
	var sent any
	if err := json.Unmarshal(b, &sent); err != nil {
		t.Fatal(err)
	}
	compareShape(t, "snapshot", lookup(t, doc, "components", "responses", "EngineEvents", "content", typeEvents, "schema", "x-event-data", "snapshot"), sent)
	var info any
	if err := json.Unmarshal(w.get("/engine").body, &info); err != nil {
		t.Fatal(err)
	}
	compareShape(t, "info", lookup(t, doc, "components", "schemas", "Engine"), info)
	if w := newSite(t, Options{}).json("/api"); lookup(t, w, "paths").(map[string]any)["/engine"] != nil {
		t.Error("a server without an engine room documents one")
	}
}

func compareShape(t *testing.T, at string, schema, v any) {
	t.Helper()
	is := ""
	switch v := v.(type) {
	case map[string]any:
		is = "object"
		properties := lookup(t, schema, "properties").(map[string]any)
		for name, value := range v {
			if properties[name] == nil {
				t.Errorf("%s.%s is sent, and not documented", at, name)
				continue
			}
			compareShape(t, at+"."+name, properties[name], value)
		}
		for _, name := range lookup(t, schema, "required").([]any) {
			if _, ok := v[name.(string)]; !ok {
				t.Errorf("%s.%s is documented, and not sent", at, name)
			}
		}
	case []any:
		is = "array"
		for _, value := range v {
			compareShape(t, at+"[]", lookup(t, schema, "items"), value)
		}
	case nil:
		if schema.(map[string]any)["nullable"] != true {
			t.Errorf("%s is null", at)
		}
		return
	case string:
		is = "string"
	case bool:
		is = "boolean"
	case float64:
		if is = "number"; lookup(t, schema, "type") == "integer" {
			is = "integer"
		}
	}
	if typ := lookup(t, schema, "type"); typ != is {
		t.Errorf("%s is a %v in the document, and a %s", at, typ, is)
	}
}
