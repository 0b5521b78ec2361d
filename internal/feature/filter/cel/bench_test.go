package cel

import (
	"fmt"
	"testing"

	"github.com/catfish-index/catfish/internal/feature/filter"
)

// place is a feature of 300 bytes of properties, like one of OpenStreetMap.
var place = filter.Input{
	ID:   []byte("node/1234567890"),
	Type: "Point",
	Properties: []byte(`{"amenity":"cafe","name":"Café Central","addr:city":"Andorra la Vella",` +
		`"addr:street":"Avinguda Meritxell","addr:housenumber":"12","cuisine":"coffee_shop",` +
		`"opening_hours":"Mo-Fr 08:00-20:00; Sa 09:00-14:00","phone":"+376 123 456",` +
		`"website":"https://example.org/cafe-central","wheelchair":"yes","seats":24,"rating":4.5}`),
	Revision: 12,
	Now:      noon,
}

// BenchmarkMatch compares the tree of simple filters with CEL on the same
// expressions, and measures expressions that only CEL can evaluate.
func BenchmarkMatch(b *testing.B) {
	b.Logf("%d bytes of properties", len(place.Properties))
	for _, c := range []struct{ name, expr string }{
		{"first", `properties.amenity == "cafe"`},
		{"last", `properties.rating > 4.0`},
		{"two", `properties.amenity == "cafe" && properties.seats > 20`},
		{"missing", `properties.stars > 3`},
		{"four", `properties.amenity in ["cafe", "bar"] && properties.seats > 20 && properties.rating >= 4.0 && properties["addr:city"].startsWith("And")`},
		{"id", `id.startsWith("node/") && type == "Point"`},
		{"exists", `properties.exists(k, k.startsWith("addr:"))`},
		{"regex", `properties.opening_hours.matches("Sa [0-9]+:")`},
	} {
		p := mustCompile(b, c.expr)
		if isTree(b, c.expr) {
			b.Run(fmt.Sprintf("filter=%s/by=tree", c.name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := p.Match(place); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		b.Run(fmt.Sprintf("filter=%s/by=cel", c.name), func(b *testing.B) {
			b.ReportAllocs()
			p := byCEL(b, c.expr, Options{})
			for b.Loop() {
				if _, err := p.Match(place); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Compile(`properties.amenity == "cafe" && properties.seats > 20`, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
