package store_test

import (
	"context"
	"fmt"
	"log"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/query"
)

// A store in memory, searched without copies: a found feature is valid until yield
// returns. Programs that want places by value use catfish.Open.
func ExampleOpen() {
	ctx := context.Background()
	st, err := store.Open(ctx, store.Options{}) // Dir: where it is kept
	if err != nil {
		log.Fatal(err)
	}
	defer st.Close()
	c, err := st.CreateFeatures("cafes", store.CollectionOptions{})
	if err != nil {
		log.Fatal(err)
	}
	for i, name := range []string{"Bar Sol", "Cafe Luna", "Refugi"} {
		f := store.Feature{ID: fmt.Sprint(i), Geometry: orb.Point{1.5 + float64(i)/100, 42.5}, Properties: fmt.Appendf(nil, `{"name":%q}`, name)}
		if _, _, err := c.Put(ctx, f, kv.Condition{}); err != nil {
			log.Fatal(err)
		}
	}
	q := store.Query{Area: query.Box(1.505, 42, 2, 43), Order: query.ByID}
	if err := c.Search(ctx, q, func(f *store.Found) (more bool, err error) {
		fmt.Printf("%s %s\n", f.ID, f.View.Properties())
		return true, nil
	}); err != nil {
		log.Fatal(err)
	}
	// Output:
	// 1 {"name":"Cafe Luna"}
	// 2 {"name":"Refugi"}
}
