package places_test

import (
	"fmt"
	"os"
	"strings"

	"github.com/catfish-index/catfish/internal/places"
)

// A table becomes GeoJSON. Its bad rows are reported.
func Example() {
	table := "ref;lat;lon;name;seats\nc1;42.5;1.5;Bar;20\nc2;north;1.6;;\n"
	r, err := places.NewReader(strings.NewReader(table), "cafes.csv", places.Options{ID: "ref"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	if _, err := places.Write(os.Stdout, places.GeoJSONSeq, r.All(), places.WriteOptions{}); err != nil {
		fmt.Println(err)
	}
	for _, bad := range r.Bad() {
		fmt.Println(bad)
	}
	// Output:
	// {"type":"Feature","id":"c1","geometry":{"type":"Point","coordinates":[1.5,42.5]},"properties":{"ref":"c1","name":"Bar","seats":20}}
	// places: cafes.csv: line 3: malformed: coordinate "north", want a finite number
}
