package api

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/catfish-index/catfish/rstar"
)

// TestLoadBadItem checks that one bad object among many prevents all from
// being stored, and is named.
func TestLoadBadItem(t *testing.T) {
	items := randomItems(rand.New(rand.NewPCG(7, 8)), 1000)
	items[777].Rect.MinY = math.NaN()
	for _, before := range []int{0, 1} {
		col := treeOf(t, make([]rstar.Item, before)...)
		c := startBufconn(t, trees{"default": col}.alone())
		_, err := c.load(testContext(t), "", items, 100)
		d := detailsOf(err)
		if d.code != codes.InvalidArgument || d.reason != ReasonBadRect ||
			d.field != "items[77].rect" ||
			!strings.Contains(err.Error(), "object 777 of the stream (id 777)") {
			t.Fatalf("%v: %+v", err, d)
		}
		if d.load.GetReceived() != 777 || d.load.GetLoaded() != 0 ||
			col.Len() != before {
			t.Fatalf("says %v; the collection has %d", d.load, col.Len())
		}
	}
}

// TestLoadSlabFull runs out of room while it inserts one by one: the error's
// count is the number of objects stored.
func TestLoadSlabFull(t *testing.T) {
	inserts := 0
	col := &faulty{treeOf(t, make([]rstar.Item, 5)...), func(op string) error {
		if op == "insert" {
			if inserts++; inserts > 300 {
				return fmt.Errorf("%w: 64 MB", rstar.ErrSlabFull)
			}
		}
		return nil
	}}
	c := startBufconn(t, trees{"default": col}.alone())
	items := randomItems(rand.New(rand.NewPCG(9, 10)), 400)
	_, err := c.load(testContext(t), "", items, 64)
	d := detailsOf(err)
	if d.code != codes.ResourceExhausted || d.reason != ReasonSlabFull ||
		!strings.Contains(err.Error(), "300 of 400 objects were stored, then: slab full: 64 MB") {
		t.Fatalf("%v: %+v", err, d)
	}
	if d.load.GetReceived() != 400 || d.load.GetLoaded() != 300 {
		t.Fatalf("says %v, want 300 of 400", d.load)
	}
	wasThere := func(it rstar.Item) bool { return it == rstar.Item{} }
	if !slices.Equal(slices.DeleteFunc(allOf(col.Tree), wasThere), items[:300]) {
		t.Fatalf("the collection has %d new objects", col.Len()-5)
	}
}

// TestLoadCancelled cancels an upload halfway: nothing is stored, and the
// server's status reports it.
func TestLoadCancelled(t *testing.T) {
	for name, start := range transports {
		t.Run(name, func(t *testing.T) {
			ended, opt := handlerErrors()
			col := treeOf(t)
			c := start(t, trees{"default": col}.alone(), opt)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			stream, err := c.Load(ctx)
			if err != nil {
				t.Fatal(err)
			}
			items := randomItems(rand.New(rand.NewPCG(11, 12)), 100)
			if err := stream.Send(loadRequest(items)); err != nil {
				t.Fatal(err)
			}
			cancel()
			// The message may or may not still arrive.
			d := detailsOf(await(t, "the handler's end", ended))
			if d.code != codes.Canceled || d.load.GetLoaded() != 0 ||
				col.Len() != 0 {
				t.Fatalf("%+v; the collection has %d", d, col.Len())
			}
		})
	}
}

// TestLoadCancelledWhileStoring cancels between inserts: the status counts the
// inserts that succeeded.
func TestLoadCancelledWhileStoring(t *testing.T) {
	ended, opt := handlerErrors()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	seen, watch := cancellations()
	inserts := 0
	col := &faulty{treeOf(t, make([]rstar.Item, 1)...), func(op string) error {
		if op == "insert" {
			if inserts++; inserts == 10 {
				cancel()
				<-seen // The cancellation has reached the server.
			}
		}
		return nil
	}}
	c := startBufconn(t, trees{"default": col}.alone(), opt, watch)
	_, err := c.load(ctx, "",
		randomItems(rand.New(rand.NewPCG(13, 14)), 1000), 500)
	if d := detailsOf(err); d.code != codes.Canceled {
		t.Fatalf("%v: %+v", err, d)
	}
	d := detailsOf(await(t, "the handler's end", ended))
	if d.code != codes.Canceled || d.load.GetReceived() != 1000 ||
		d.load.GetLoaded() != BatchItems || col.Len() != 1+BatchItems {
		t.Fatalf("%+v: %v; the collection has %d", d, d.load, col.Len())
	}
}

// TestLoadTooLarge: an upload that needs more than one source may hold is
// refused with the advice to divide it, and holds nothing.
func TestLoadTooLarge(t *testing.T) {
	col := treeOf(t)
	// One message of 1 KB takes 35 KB, and the objects the rest of 60 KB.
	c := startBufconn(t, trees{"default": col}.alone(),
		WithMaxMessageBytes(1<<10), WithMaxLoadBytes(80<<10))
	ctx := testContext(t)
	items := randomItems(rand.New(rand.NewPCG(15, 16)), 1000)
	_, err := c.load(ctx, "", items, 10)
	d := detailsOf(err)
	if d.code != codes.ResourceExhausted || d.reason != ReasonLoadTooLarge ||
		d.retry || d.meta[MetadataLimit] != "61440" || col.Len() != 0 {
		t.Fatalf("%v: %+v", err, d)
	}
	if res, err := c.load(ctx, "", items[:250], 10); err != nil || res.GetLoaded() != 250 {
		t.Fatalf("a smaller one: %v, %v", res, err)
	}
	if u := c.server.loads.Use(); u.Used != 0 {
		t.Fatalf("held after the calls: %+v", u)
	}
}

// TestLoadEmpty loads nothing, which is no error.
func TestLoadEmpty(t *testing.T) {
	c := startBufconn(t, trees{"default": treeOf(t)}.alone())
	res, err := c.load(testContext(t), "", nil, 1)
	if err != nil || res.GetReceived() != 0 || res.GetLoaded() != 0 {
		t.Fatalf("%v, %v", res, err)
	}
}
