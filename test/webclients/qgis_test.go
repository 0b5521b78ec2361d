//go:build clients && qgis

package webclients

import (
	"encoding/json"
	"strings"
	"testing"
)

// QGIS reads the features of the files that were loaded, all of them and by area.
func TestQGIS(t *testing.T) {
	t.Setenv("QT_QPA_PLATFORM", "offscreen")
	t.Setenv("HOME", t.TempDir()) // where it keeps settings
	for i, c := range loaded {
		for _, box := range map[string][][]string{
			"countries": {nil, {"5", "45", "11", "48"}}, "kinds": {nil, {"2.45", "42.45", "2.55", "42.55"}}, "andorra": {nil, {"1.52", "42.505", "1.53", "42.51"}},
		}[c.name] {
			t.Run(c.name+" "+strings.Join(box, " "), func(t *testing.T) {
				options := []string{}
				if box != nil {
					options = append([]string{"-spat"}, box...)
				}
				want := ogr2ogr(t, []string{original(t, i)}, options...)
				got := map[string]place{}
				for line := range strings.Lines(run(t, python, append([]string{"qgis_features.py", site, c.name}, box...)...)) {
					var f struct {
						ID         string
						Geometry   json.RawMessage
						Properties map[string]any
					}
					if err := json.Unmarshal([]byte(line), &f); err != nil {
						t.Fatalf("%v: %.300s", err, line)
					}
					got[f.ID] = place{normal(t, f.Geometry), f.Properties}
				}
				for _, w := range want {
					for name, v := range w.properties {
						if name != "name" || v == "" {
							delete(w.properties, name)
						}
					}
				}
				same(t, want, got)
			})
		}
	}
}
