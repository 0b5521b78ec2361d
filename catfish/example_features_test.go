package catfish_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"strings"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/datasets"
)

// cafes stores some cafes in a collection.
func cafes(ctx context.Context, c *catfish.Features) {
	for _, cafe := range []struct {
		id         string
		at         orb.Point
		properties string
	}{
		{"sol", orb.Point{1.50, 42.50}, `{"name":"Bar Sol","seats":20,"open":true}`},
		{"luna", orb.Point{1.52, 42.51}, `{"name":"Cafe Luna","seats":8,"open":false}`},
		{"far", orb.Point{1.60, 42.55}, `{"name":"Refugi","seats":40,"open":true}`},
	} {
		f := catfish.Feature{ID: cafe.id, Geometry: cafe.at, Properties: []byte(cafe.properties)}
		if _, _, err := c.Put(ctx, f, catfish.Condition{}); err != nil {
			log.Fatal(err)
		}
	}
}

// Features in this process, without a network: an empty directory keeps them in
// memory alone.
func ExampleOpen() {
	ctx := context.Background()
	db, err := catfish.Open(ctx, "", catfish.LocalOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	if err := db.CreateFeatures(ctx, "cafes", catfish.FeaturesOptions{Title: "Cafes of Andorra"}); err != nil {
		log.Fatal(err)
	}
	c, err := db.Features("cafes")
	if err != nil {
		log.Fatal(err)
	}
	cafes(ctx, c)
	f, err := c.Get(ctx, "luna")
	if err != nil {
		log.Fatal(err)
	}
	info, err := c.Describe(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s, one of %d: %s\n", f.ID, info.Features, f.Properties)
	_, err = c.Get(ctx, "nope")
	fmt.Println(errors.Is(err, catfish.ErrNotFound), err)
	// Output:
	// luna, one of 3: {"name":"Cafe Luna","seats":8,"open":false}
	// true no feature "nope" in "cafes"
}

// What is in an area, of a server's collection.
func ExampleFeatures_Search() {
	slog.SetLogLoggerLevel(slog.LevelError)
	ctx, stop := context.WithCancel(context.Background())
	srv, err := catfish.NewServer(catfish.ServerOptions{
		Transports: []string{"soft"},
		Features:   map[string]catfish.FeaturesOptions{"cafes": {}},
	})
	if err != nil {
		log.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- srv.Serve(ctx) }()
	defer func() { stop(); <-done; srv.Close() }()

	client, err := catfish.Dial(ctx, srv.Addr(), catfish.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	c, err := client.Features("cafes")
	if err != nil {
		log.Fatal(err)
	}
	cafes(ctx, c)
	for f, err := range c.Search(ctx, catfish.FeatureQuery{
		Area:   catfish.Box(1.4, 42.4, 1.55, 42.6),
		Filter: "properties.seats >= 8",
		Order:  catfish.ByID,
	}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(f.ID, f.Geometry)
	}
	// Output:
	// luna [1.52 42.51]
	// sol [1.5 42.5]
}

// A client of a server, which usually is another process: catfish serve. Features has
// the same methods as in process.
func ExampleDial() {
	slog.SetLogLoggerLevel(slog.LevelError)
	ctx, stop := context.WithCancel(context.Background())
	srv, err := catfish.NewServer(catfish.ServerOptions{Transports: []string{"soft"}})
	if err != nil {
		log.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- srv.Serve(ctx) }()
	defer func() { stop(); <-done; srv.Close() }()

	client, err := catfish.Dial(ctx, srv.Addr(), catfish.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	if err := client.CreateFeatures(ctx, "cafes", catfish.FeaturesOptions{}); err != nil {
		log.Fatal(err)
	}
	c, err := client.Features("cafes")
	if err != nil {
		log.Fatal(err)
	}
	sol := catfish.Feature{ID: "sol", Geometry: orb.Point{1.52, 42.51}, Properties: []byte(`{"seats":20}`)}
	_, revision, err := c.Put(ctx, sol, catfish.Condition{IfAbsent: true})
	if err != nil {
		log.Fatal(err)
	}
	_, _, err = c.Put(ctx, sol, catfish.Condition{IfAbsent: true})
	fmt.Println("again:", errors.Is(err, catfish.ErrExists))
	if _, err = c.Patch(ctx, "sol", []byte(`{"seats":21}`), catfish.Condition{IfRevision: revision}); err != nil {
		log.Fatal(err)
	}
	_, err = c.Delete(ctx, "sol", catfish.Condition{IfRevision: revision})
	fmt.Println("of an old revision:", errors.Is(err, catfish.ErrConflict))
	_, err = c.Delete(ctx, "luna", catfish.Condition{})
	fmt.Println(err)
	// Output:
	// again: true
	// of an old revision: true
	// no feature "luna" in "cafes"
}

// The ten nearest cafes that are open, and how many metres away they are.
func ExampleFeatures_Nearest() {
	ctx := context.Background()
	db, err := catfish.Open(ctx, "", catfish.LocalOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	if err := db.CreateFeatures(ctx, "cafes", catfish.FeaturesOptions{}); err != nil {
		log.Fatal(err)
	}
	c, err := db.Features("cafes")
	if err != nil {
		log.Fatal(err)
	}
	cafes(ctx, c)
	for f, err := range c.Nearest(ctx, catfish.NearestQuery{X: 1.52, Y: 42.51, K: 10, Filter: "properties.open"}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s, %.0f m\n", f.ID, f.Distance)
	}
	// Output:
	// sol, 1981 m
	// far, 7922 m
}

// A file is read place by place, and many places are stored at a time.
func ExampleFeatures_PutMany() {
	ctx := context.Background()
	db, err := catfish.Open(ctx, "", catfish.LocalOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	if err := db.CreateFeatures(ctx, "stops", catfish.FeaturesOptions{}); err != nil {
		log.Fatal(err)
	}
	c, err := db.Features("stops")
	if err != nil {
		log.Fatal(err)
	}
	table := "stop_id,stop_name,lat,lon\n1,Plaza,42.507,1.521\n2,Pont,42.506,1.524\n3,Station,over there,1.5\n"
	r, err := datasets.NewPlacesReader(strings.NewReader(table), "stops.csv", datasets.PlacesOptions{ID: "stop_id"})
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	var batch []catfish.Feature
	stored := 0
	store := func() {
		results, err := c.PutMany(ctx, batch)
		if err != nil {
			log.Fatal(err)
		}
		for _, res := range results {
			if res.Err != nil {
				fmt.Println(res.ID, res.Err)
				continue
			}
			stored++
		}
		batch = batch[:0]
	}
	for p, err := range r.All() {
		if err != nil {
			log.Fatal(err)
		}
		batch = append(batch, catfish.Feature{ID: p.ID, Geometry: p.Geometry, Properties: p.Properties})
		if len(batch) == 256 {
			store()
		}
	}
	store()
	fmt.Println(stored, "stored,", r.Stats().Bad, "bad")
	// Output:
	// 2 stored, 1 bad
}

// Moving buses are followed in an area: those in it at first, and then the changes.
func ExampleFeatures_Watch() {
	ctx := context.Background()
	db, err := catfish.Open(ctx, "", catfish.LocalOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	if err := db.CreateFeatures(ctx, "buses", catfish.FeaturesOptions{}); err != nil {
		log.Fatal(err)
	}
	buses, err := db.Features("buses")
	if err != nil {
		log.Fatal(err)
	}
	move := func(bus string, lon, lat float64) {
		if _, _, err := buses.Put(ctx, catfish.Feature{ID: bus, Geometry: orb.Point{lon, lat}}, catfish.Condition{}); err != nil {
			log.Fatal(err)
		}
	}
	move("L1", 1.51, 42.50)
	move("L2", 1.70, 42.60)

	town := catfish.FeatureQuery{Area: catfish.Circle(1.52, 42.51, 3000)}
	seen := map[string]uint64{} // bus -> revision
	for e, err := range buses.Watch(ctx, catfish.WatchQuery{Query: town, Progress: true}) {
		if err != nil {
			log.Fatal(err) // catfish.ErrLagged: begin again, with a search
		}
		switch e.Kind {
		case catfish.Progress: // The watch stands.
			for bus, err := range buses.Search(ctx, town) {
				if err != nil {
					log.Fatal(err)
				}
				seen[bus.ID] = bus.Revision
				fmt.Println(bus.ID, "is in town")
			}
			go func() { // Another goroutine moves buses.
				move("L1", 1.52, 42.51)
				move("L2", 1.53, 42.52)
				move("L1", 1.60, 42.55)
				if _, err := buses.Delete(ctx, "L2", catfish.Condition{}); err != nil {
					log.Fatal(err)
				}
			}()
		case catfish.Exit:
			fmt.Println(e.ID, "leaves:", e.Why)
			if delete(seen, e.ID); len(seen) == 0 {
				return // Another watch could continue from e.Resume.
			}
		default:
			if e.Revision > seen[e.ID] { // the search has not seen it
				seen[e.ID] = e.Revision
				fmt.Println(e.ID, e.Kind, e.Feature.Geometry)
			}
		}
	}
	// Output:
	// L1 is in town
	// L1 inside [1.52 42.51]
	// L2 enter [1.53 42.52]
	// L1 leaves: moved
	// L2 leaves: deleted
}
