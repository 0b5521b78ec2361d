package web

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/whole"
)

const typeMergePatch = "application/merge-patch+json"

// merge is a merge patch of a feature.
type merge struct {
	properties []byte       // the properties; nil: unchanged
	none       bool         // the properties become null
	moved      bool         // the geometry changes
	geometry   orb.Geometry // nil: null
	altitudes  []float64
}

var errPatch = errors.New("a merge patch of a feature is an object with properties, geometry, or both")

// mergeOf reads a patch. A geometry is replaced as a whole, with its type, since a part
// of a geometry means nothing without the rest.
func mergeOf(c whole.Collection, id string, body []byte) (m merge, err error) {
	bad := func(format string, args ...any) (merge, error) {
		return m, &statusError{http.StatusBadRequest, fmt.Sprintf("the body: "+format, args...)}
	}
	// CompactProperties bounds the nesting depth of the text; package json does not.
	whole, err := feature.CompactProperties(body)
	if err != nil {
		return m, fmt.Errorf("the body: %w", err)
	}
	var members map[string]json.RawMessage
	if whole == nil {
		return bad("%v", errPatch)
	}
	if err := json.Unmarshal(whole, &members); err != nil {
		return bad("%v: %v", errPatch, err)
	}
	for name, value := range members {
		null := string(value) == "null"
		switch name {
		case "type":
			if string(value) != `"Feature"` {
				return bad(`type is %.40s, want "Feature"`, value)
			}
		case "id":
			var is string
			if json.Unmarshal(value, &is) != nil || is != id {
				return bad("id is %.200s, and that of the path %.200q: ids do not change", value, id)
			}
		case "geometry":
			m.moved = true
			if null {
				break
			}
			if m.geometry, m.altitudes, err = feature.DecodeGeometryZ(value, feature.Options{Space: c.Options().Space}); err != nil {
				return m, fmt.Errorf("the body: %w", err)
			}
		case "properties":
			m.none, m.properties = null, value
			if _, err := feature.CompactProperties(value); err != nil {
				return m, fmt.Errorf("the body: properties: %w", err)
			}
		default:
			return bad("member %.100q is unknown: %v", name, errPatch)
		}
	}
	if !m.moved && m.properties == nil {
		return bad("%v", errPatch)
	}
	return m, nil
}

// apply returns the feature after the patch.
func (m *merge) apply(is *store.Found) ([]byte, error) {
	properties := is.View.Properties()
	var err error
	switch {
	case m.none:
		properties = nil
	case m.properties != nil:
		if properties, err = store.MergePatch(properties, m.properties); err != nil {
			return nil, err
		}
	}
	if !m.moved {
		return is.View.AppendReplacing(nil, properties)
	}
	return feature.AppendZ(nil, m.geometry, m.altitudes, properties)
}

// patch answers to PATCH. The feature keeps its expiry, unless parameter ttl sets
// another.
func (q *request) patch() error {
	c, expires, err := q.writable()
	if err != nil {
		return err
	}
	if err := q.mediaType("PATCH wants", typeMergePatch); err != nil {
		return err
	}
	body, err := q.body()
	if err != nil {
		return err
	}
	id := q.r.PathValue("featureId")
	m, err := mergeOf(c, id, body)
	if err != nil {
		return err
	}
	var revision uint64
	if _, err := q.under(c, id, false, func(is *store.Found, cond kv.Condition) error {
		value, err := m.apply(is)
		if err != nil {
			return err
		}
		revision, err = q.put(c, encoded{id, value}, cmp.Or(expires, int64(is.Expiry)), cond)
		return err
	}); err != nil {
		return err
	}
	q.w.Header().Set("ETag", etag(c, id, revision, false))
	q.w.WriteHeader(http.StatusNoContent)
	return nil
}
