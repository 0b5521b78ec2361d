package daemon_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/catfish/daemon"
)

// A program opens a directory, serves the places that it keeps over HTTP and gRPC, adds one,
// and closes.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "cafes")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	d, err := daemon.New(daemon.Options{
		Server: catfish.ServerOptions{DataDir: dir, Features: map[string]catfish.FeaturesOptions{"cafes": {}}},
		HTTP:   daemon.HTTP{Addr: "127.0.0.1:0"},
		GRPC:   daemon.GRPC{Addr: "127.0.0.1:0"},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer d.Close(ctx)
	if err := d.Start(ctx); err != nil {
		log.Fatal(err)
	}

	collection, err := d.Server().Features("cafes")
	if err != nil {
		log.Fatal(err)
	}
	cafes := catfish.FeaturesOf(collection)
	luna := catfish.Feature{ID: "luna", Geometry: orb.Point{1.52, 42.51}, Properties: []byte(`{"seats":8}`)}
	if _, _, err := cafes.Put(ctx, luna, catfish.Condition{}); err != nil {
		log.Fatal(err)
	}
	answer, err := http.Get("http://" + d.Addrs().HTTP + "/collections/cafes/items/luna")
	if err != nil {
		log.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	fmt.Println(answer.Status, len(text) > 0, err)
	// Output: 200 OK true <nil>
}
