package datasets_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/catfish-index/catfish/datasets"
	"github.com/catfish-index/catfish/rstar"
)

func ExampleOpen() {
	src, err := datasets.Open("california", datasets.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = src.Items(func(it rstar.Item) bool {
		fmt.Println(it.ID, it.Rect)
		return it.ID < 1
	})
	fmt.Println(src.Count(), err)
	// Output:
	// 0 {-121.904167 41.974556 -121.902153 41.974766}
	// 1 {-121.910088 41.973942 -121.904167 41.974556}
	// 21693 <nil>
}

func ExampleWrite() {
	var csv bytes.Buffer
	n, err := datasets.Write(&csv, datasets.CSV, datasets.Uniform(1000, 1))
	header, _, _ := strings.Cut(csv.String(), "\n")
	fmt.Println(n, err, header)
	// Output: 1000 <nil> id,minx,miny,maxx,maxy
}

func ExampleQueries() {
	bounds, _, err := datasets.Bounds(datasets.California())
	if err != nil {
		fmt.Println(err)
		return
	}
	next, err := datasets.Queries(datasets.ScaleLarge, bounds, 1, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 3 {
		fmt.Println(bounds.Contains(next()))
	}
	// Output:
	// true
	// true
	// true
}

func ExampleReadError() {
	_, err := datasets.Collect(datasets.FromItems("mine", []rstar.Item{
		{Rect: rstar.Rect{MaxX: 1, MaxY: 1}, ID: 1},
		{Rect: rstar.Rect{MinX: 5, MaxX: 1, MaxY: 1}, ID: 2},
	}))
	var at *datasets.ReadError
	if errors.As(err, &at) && errors.Is(err, rstar.ErrBadRect) {
		fmt.Println(at.Name, "is bad after", at.Delivered, "item:", at.Err)
	}
	// Output: mine is bad after 1 item: rstar: bad rectangle: minx 5 exceeds maxx 1
}
