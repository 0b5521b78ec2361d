package datasets

import (
	"embed"
	"io/fs"
)

// CaliforniaObjects is the number of edges in the embedded road network.
const CaliforniaObjects = 21_693

//go:embed testdata/cal.cnode testdata/cal.cedge
var embedded embed.FS

// California is the embedded road network of California: the box of each
// edge, by longitude and latitude. testdata/ATTRIBUTION.md names its authors.
func California() *Source {
	dir, err := fs.Sub(embedded, "testdata")
	if err == nil {
		var s *Source
		if s, err = openRoad(dir, "cal.cedge", 0); err == nil {
			s.name, s.count = californiaName, CaliforniaObjects
			return s
		}
	}
	panic(err) // the two files are part of the program
}
