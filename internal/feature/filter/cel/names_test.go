package cel

import (
	"errors"
	"slices"
	"testing"

	"github.com/catfish-index/catfish/internal/feature/filter"
)

// TestProperties: the names that an expression reads, without those that it tests for.
func TestProperties(t *testing.T) {
	for expr, want := range map[string][]string{
		`true`:                         nil,
		`id == "a" && type == "Point"`: nil,
		`properties.kind == "cafe"`:    {"kind"},
		`properties["a b"] > 1 || properties.z < properties.a`:          {"a", "a b", "z"},
		`properties.addr.city == "Graz"`:                                {"addr"},
		`properties.tags.exists(t, t == "x")`:                           {"tags"},
		`properties.list.exists(properties, properties.kind == "cafe")`: nil,
		`has(properties.x)`:                                             nil,
		`has(properties.x) && properties.x > 1 && properties.y > 1`:     {"y"},
		`has(properties.addr.city)`:                                     {"addr"},
		`"x" in properties && properties.x > 1`:                         nil,
		`properties.?x.orValue(1) > 0`:                                  nil,
		`properties[?"x"].orValue(1) > 0`:                               nil,
		`properties[id] == 1`:                                           nil,
		`size(properties) > 1`:                                          nil,
	} {
		if got, err := Properties(expr); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v, want %q", expr, got, err, want)
		}
	}
	if _, err := Properties(`properties.`); !errors.Is(err, filter.ErrFilter) {
		t.Error(err)
	}
}
