package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/web"
)

// Places of this process over HTTP, as part of a program's own server.
func ExampleNew() {
	ctx := context.Background()
	db, err := catfish.Open(ctx, "", catfish.LocalOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	if err := db.CreateFeatures(ctx, "cafes", catfish.FeaturesOptions{}); err != nil {
		log.Fatal(err)
	}
	cafes, err := db.Features("cafes")
	if err != nil {
		log.Fatal(err)
	}
	for i, seats := range []int{8, 20, 40} {
		f := catfish.Feature{
			ID: fmt.Sprint("cafe", i), Geometry: orb.Point{1.5 + float64(i)/100, 42.5},
			Properties: fmt.Appendf(nil, `{"seats":%d}`, seats),
		}
		if _, _, err := cafes.Put(ctx, f, catfish.Condition{}); err != nil {
			log.Fatal(err)
		}
	}

	places, err := web.New(nil, web.Options{Title: "Cafes", URL: "http://example.org"})
	if err != nil {
		log.Fatal(err)
	}
	places.ServeFeatures(db.Store())
	mux := http.NewServeMux() // with the program's own pages
	mux.Handle("/", places)
	srv := httptest.NewServer(mux)
	defer srv.Close()

	q := url.Values{"filter": {"seats >= 20"}, "numberMatched": {"false"}, "bbox": {"1.4,42.4,1.515,42.6"}}
	res, err := srv.Client().Get(srv.URL + "/collections/cafes/items?" + q.Encode())
	if err != nil {
		log.Fatal(err)
	}
	defer res.Body.Close()
	var found struct{ Features []json.RawMessage }
	if err := json.NewDecoder(res.Body).Decode(&found); err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Status, res.Header.Get("Content-Type"))
	fmt.Printf("%s\n", found.Features)
	// Output:
	// 200 OK application/geo+json
	// [{"type":"Feature","id":"cafe1","geometry":{"type":"Point","coordinates":[1.51,42.5]},"properties":{"seats":20}}]
}
