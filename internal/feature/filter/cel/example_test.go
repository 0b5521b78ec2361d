package cel_test

import (
	"fmt"

	"github.com/catfish-index/catfish/internal/feature/filter"
	"github.com/catfish-index/catfish/internal/feature/filter/cel"
)

func Example() {
	p, err := cel.Compile(`properties.kind == "cafe" && properties.seats > 20`, cel.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, properties := range []string{
		`{"kind": "cafe", "seats": 24}`,
		`{"kind": "cafe", "seats": 12}`,
		`{"kind": "cafe"}`,
	} {
		ok, err := p.Match(filter.Input{Properties: []byte(properties)})
		fmt.Println(properties, ok, err)
	}
	// Output:
	// {"kind": "cafe", "seats": 24} true <nil>
	// {"kind": "cafe", "seats": 12} false <nil>
	// {"kind": "cafe"} false <nil>
}

func ExampleError() {
	_, err := cel.Compile(`properties.kind == "cafe" && seats > 20`, cel.Options{})
	fmt.Println(err)
	// Output:
	// filter: invalid expression: column 30: undeclared reference to 'seats': the variables are properties, id, type, revision, expires and now; a property is properties.seats
	//   properties.kind == "cafe" && seats > 20
	//                                ^
}
