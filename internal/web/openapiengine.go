package web

import (
	"reflect"
	"strings"
	"time"
)

// The OpenAPI document's part on the engine room (docs/page.md). Its schemas are
// derived from the types that are sent.

// engineOperations are those with Options.Engine.
var engineOperations = []operation{
	{path: "/engine", method: "get", id: "getEngine", summary: "What serves, and what a load may be", answer: "Engine", form: typeJSON},
	{path: "/engine/events", method: "get", id: "getEngineEvents", summary: "How the server answers, each second, as server-sent events",
		answer: "EngineEvents", form: typeEvents},
	{path: "/engine/load", method: "post", id: "startEngineLoad", summary: "Starts clients that search", answer: "EngineLoad", status: 202,
		body: object{typeJSON: object{"schema": ref("schemas", "EngineWanted")}}, errors: []int{403, 409, 413, 415}},
	{path: "/engine/load", method: "delete", id: "stopEngineLoad", summary: "Ends the load", answer: "EngineStopped", status: 204},
}

func roomResponses() object {
	// OpenAPI 3.0 cannot describe events: x-event-data has the schema of each one's data.
	events := content("Events called snapshot, the data of each one a JSON object on one line", typeEvents,
		object{"type": "string", "x-event-data": object{"snapshot": engineSchema(reflect.TypeFor[EngineSnapshot]())}})
	return object{
		"Engine":        content("What serves", typeJSON, ref("schemas", "Engine")),
		"EngineEvents":  events,
		"EngineLoad":    content("The load that begins", typeJSON, ref("schemas", "EngineLoad")),
		"EngineStopped": object{"description": "There is no load any more"},
	}
}

func roomSchemas() object {
	wanted := engineSchema(reflect.TypeFor[EngineLoad]())
	delete(wanted, "required") // An omitted member has its default.
	wanted["additionalProperties"] = false
	return object{
		"Engine": engineSchema(reflect.TypeFor[EngineInfo]()), "EngineLoad": engineSchema(reflect.TypeFor[EngineLoad]()),
		"EngineWanted": wanted,
	}
}

// engineSchema is the JSON schema of a type as package encoding/json writes it, for the
// kinds that the engine room's types have. Slices may be null.
func engineSchema(t reflect.Type) object {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case t.Kind() == reflect.Pointer:
		return with(engineSchema(t.Elem()), object{"nullable": true})
	}
	switch t.Kind() {
	case reflect.Struct:
		properties, required := object{}, []string{}
		addFields(t, properties, &required)
		return object{"type": "object", "properties": properties, "required": required}
	case reflect.Slice:
		return object{"type": "array", "items": engineSchema(t.Elem()), "nullable": true}
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Float64:
		return object{"type": "number"}
	case reflect.Int, reflect.Int64, reflect.Uint32, reflect.Uint64:
		return object{"type": "integer"}
	}
	panic("web: no schema for " + t.String()) // A test calls it for all types.
}

// addFields adds a struct's fields, and those of structs embedded in it.
func addFields(t reflect.Type, properties object, required *[]string) {
	for f := range t.Fields() {
		if f.Anonymous {
			addFields(f.Type, properties, required)
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		properties[name] = engineSchema(f.Type)
		if options != "omitempty" {
			*required = append(*required, name)
		}
	}
}
