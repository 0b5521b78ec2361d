package feature_test

import (
	"fmt"
	"log"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/feature"
)

// A place from GeoJSON to its bytes, and two questions about them.
func Example() {
	f, err := feature.Decode([]byte(`{"type":"Feature","id":"sol","geometry":{"type":"Point","coordinates":[1.52,42.51]},"properties":{"seats":20}}`), feature.Options{})
	if err != nil {
		log.Fatal(err)
	}
	b, err := feature.Append(nil, f.Geometry, f.Properties)
	if err != nil {
		log.Fatal(err)
	}
	view, err := feature.Parse(b)
	if err != nil {
		log.Fatal(err)
	}
	near, err := feature.NewCircle(feature.Geographic, orb.Point{1.521, 42.51}, 100, feature.Within)
	if err != nil {
		log.Fatal(err)
	}
	is, err := near.Match(&view)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(f.ID, view.Type(), string(view.Properties()), is)

	_, err = feature.Decode([]byte(`{"type":"Feature","geometry":{"type":"Point","coordinates":[1.52,95]},"properties":{}}`), feature.Options{})
	fmt.Println(err)
	// Output:
	// sol Point {"seats":20} true
	// geometry.coordinates: coordinate out of range: latitude 95 is outside -90..90 (the longitude comes first)
}
