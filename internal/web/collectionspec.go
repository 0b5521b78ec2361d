package web

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/catfish-index/catfish/api"
	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/store"
)

// describedMembers are the members of GET's answer that do not specify a collection: a
// client may send them back.
var describedMembers = []string{"links", "extent", "itemCount"}

// spec is the specification of a collection in a body. nil: not given.
type spec struct{ id, title, description *string }

// specIn reads the spec in the body, which may be empty if it is optional.
func (q *request) specIn(optional bool, types ...string) (s spec, err error) {
	if optional && q.r.ContentLength == 0 {
		return s, nil
	}
	if err := q.mediaType(q.r.Method+" wants", types...); err != nil {
		return s, err
	}
	body, err := q.body()
	if err != nil {
		return s, err
	}
	return specOf(body)
}

func specOf(body []byte) (s spec, err error) {
	bad := func(format string, args ...any) (spec, error) {
		return s, &statusError{http.StatusBadRequest, "the body: " + fmt.Sprintf(format, args...)}
	}
	// CompactProperties bounds the nesting depth of the text; package json does not.
	whole, err := feature.CompactProperties(body)
	if err != nil {
		return s, fmt.Errorf("the body: %w", err)
	}
	if whole == nil {
		return bad("want an object, such as %s", `{"title":"Cafes"}`)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(whole, &members); err != nil {
		return bad("%v", err)
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		value := members[name]
		var to **string
		switch name {
		case "id":
			to = &s.id
		case "title":
			to = &s.title
		case "description":
			to = &s.description
		case "itemType":
			if string(value) != `"feature"` {
				return bad(`itemType is %.40s, want "feature"`, value)
			}
			continue
		case "crs":
			var all []string
			if json.Unmarshal(value, &all) != nil || !slices.Equal(all, []string{crs84}) {
				return bad("crs is %.200s, want [%q]", value, crs84)
			}
			continue
		default:
			if !slices.Contains(describedMembers, name) {
				return bad("member %.100q is unknown, want id, title or description", name)
			}
			continue
		}
		text := "" // the value of null
		if err := json.Unmarshal(value, &text); err != nil {
			return bad("%s is %.40s, want a text", name, value)
		}
		if len(text) > api.MaxTextBytes {
			return bad("%s has %d bytes, want at most %d", name, len(text), api.MaxTextBytes)
		}
		*to = &text
	}
	return s, nil
}

// isOf returns an error if the body's id differs from the path's.
func (s *spec) isOf(name string) error {
	if s.id != nil && *s.id != name {
		return &statusError{http.StatusBadRequest, fmt.Sprintf("the body's id is %.200q, and that of the path %.200q: ids do not change", *s.id, name)}
	}
	return nil
}

// alter is o with the spec's values.
func (s *spec) alter(o store.CollectionOptions) store.CollectionOptions {
	if s.title != nil {
		o.Title = *s.title
	}
	if s.description != nil {
		o.Description = *s.description
	}
	return o
}
