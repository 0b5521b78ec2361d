package store

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/catfish-index/catfish/internal/feature"
)

// mergePatch is a JSON merge patch of properties (RFC 7396): members replace those
// of the same name, objects are merged, null removes.
type mergePatch map[string]json.RawMessage

// parsePatch refuses a patch that nests deeper than properties do (package feature):
// each level is parsed again, in the commit leader, while all writes wait.
func parsePatch(text []byte) (p mergePatch, err error) {
	whole, err := feature.CompactProperties(text)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: a patch: %w", ErrFeature, err)
	case whole == nil:
		return nil, fmt.Errorf("%w: a patch is a JSON object, neither null nor empty", ErrFeature)
	}
	if err := json.Unmarshal(whole, &p); err != nil {
		return nil, fmt.Errorf("%w: a patch is a JSON object: %w", ErrFeature, err)
	}
	return p, nil
}

// apply returns the properties after the patch.
func (p mergePatch) apply(properties []byte) ([]byte, error) {
	merged, err := p.merge(properties)
	if err != nil {
		return nil, err
	}
	return feature.CompactProperties(merged)
}

func (p mergePatch) merge(target []byte) ([]byte, error) {
	var members map[string]json.RawMessage
	if t := bytes.TrimSpace(target); len(t) > 0 && t[0] == '{' {
		if err := json.Unmarshal(t, &members); err != nil {
			return nil, err
		}
	}
	if members == nil {
		members = map[string]json.RawMessage{} // What is no object counts as an empty one.
	}
	for name, value := range p {
		v := bytes.TrimSpace(value)
		switch {
		case string(v) == "null":
			delete(members, name)
		case len(v) > 0 && v[0] == '{':
			var inner mergePatch
			if err := json.Unmarshal(v, &inner); err != nil {
				return nil, err
			}
			m, err := inner.merge(members[name])
			if err != nil {
				return nil, err
			}
			members[name] = m
		default:
			members[name] = v
		}
	}
	return json.Marshal(members)
}

// MergePatch returns the properties of a feature after a JSON merge patch (RFC
// 7396), as Collection.Patch makes them. Errors wrap ErrFeature.
func MergePatch(properties, patch []byte) ([]byte, error) {
	p, err := parsePatch(patch)
	if err != nil {
		return nil, err
	}
	merged, err := p.apply(properties)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFeature, err)
	}
	return merged, nil
}
