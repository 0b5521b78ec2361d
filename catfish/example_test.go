package catfish_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/rstar"
)

// A server and a client in one process; usually they are separate.
func Example() {
	slog.SetLogLoggerLevel(slog.LevelError)
	ctx, stop := context.WithCancel(context.Background())
	srv, err := catfish.NewServer(catfish.ServerOptions{Transports: []string{"soft"}})
	if err != nil {
		log.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- srv.Serve(ctx) }()
	defer func() { stop(); <-done; srv.Close() }()

	c, err := catfish.Dial(ctx, srv.Addr(), catfish.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	for i := range 5 {
		x := float64(i)
		err := c.Insert(ctx, rstar.Rect{MinX: x, MinY: 0, MaxX: x + 0.5, MaxY: 1}, uint64(i))
		if err != nil {
			log.Fatal(err)
		}
	}
	n, err := c.Count(ctx, rstar.Rect{MinX: 1.2, MinY: 0, MaxX: 3.1, MaxY: 0.5})
	if err != nil {
		log.Fatal(err)
	}
	near, err := c.Nearest(ctx, 4, 2, 1)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(n, "in the area; nearest is", near[0].ID, "at", near[0].Dist)
	fmt.Println("transport:", c.Info().Transport)
	// Output:
	// 3 in the area; nearest is 4 at 1
	// transport: soft
}

// Many searches that are known at once travel in few messages, and the
// server makes them together.
func ExampleClient_SearchMany() {
	slog.SetLogLoggerLevel(slog.LevelError)
	ctx, stop := context.WithCancel(context.Background())
	srv, err := catfish.NewServer(catfish.ServerOptions{Transports: []string{"soft"}})
	if err != nil {
		log.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- srv.Serve(ctx) }()
	defer func() { stop(); <-done; srv.Close() }()

	c, err := catfish.Dial(ctx, srv.Addr(), catfish.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	for i := range 5 {
		x := float64(i)
		if err := c.Insert(ctx, rstar.Rect{MinX: x, MaxX: x + 0.5, MaxY: 1}, uint64(i)); err != nil {
			log.Fatal(err)
		}
	}
	tiles := []rstar.Rect{{MaxX: 1.2, MaxY: 1}, {MinX: 9, MaxX: 10, MaxY: 1}, {MinX: 3.7, MaxX: 5, MaxY: 1}}
	err = c.SearchMany(ctx, tiles, func(i int, items []rstar.Item) error {
		fmt.Println("tile", i, "has", len(items), "objects")
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// tile 0 has 2 objects
	// tile 1 has 0 objects
	// tile 2 has 1 objects
}
