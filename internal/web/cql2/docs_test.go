package cql2

import (
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/internal/store"
)

// The rows of the table of languages in docs/filters.md are equivalent: both forms of
// CQL2 give the same condition, and all compile.
func TestTableOfLanguages(t *testing.T) {
	text, err := os.ReadFile("../../../docs/filters.md")
	if err != nil {
		t.Fatal(err)
	}
	has := schemaOf([]string{"addr"}, "kind", "x", "seats", "name", "addr:city", "tags", "at")
	code := regexp.MustCompile("`([^`]+)`|<code>([^<]+)</code>")
	rows := 0
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if len(cells) != 4 || !strings.Contains(cells[3], `"op"`) {
			continue
		}
		var codes []string
		for _, c := range cells[1:] {
			m := code.FindStringSubmatch(c)
			if m == nil {
				m = []string{"", "", ""} // described in words
			}
			codes = append(codes, strings.ReplaceAll(m[1]+m[2], "&#124;", "|"))
		}
		if !json.Valid([]byte(codes[2])) {
			continue // a row of conditions a and b
		}
		rows++
		a, err := Parse(codes[1], has)
		if err != nil {
			t.Errorf("%s: %v", codes[1], err)
			continue
		}
		b, err := ParseJSON(codes[2], has)
		if err != nil || !reflect.DeepEqual(treeOf(codes[1], has), treeOf(codes[2], has)) {
			t.Errorf("%s: %v, %+v\nand %s: %+v", codes[2], err, b, codes[1], a)
		}
		q := store.Query{Filter: codes[0]}
		if _, err := q.Prepare(0, filters); err != nil {
			t.Errorf("%s: %v", codes[0], err)
		}
	}
	if rows < 15 {
		t.Errorf("%d rows", rows)
	}
}
