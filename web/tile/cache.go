package tile

import (
	"container/list"
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/catfish-index/catfish/store"
)

// A cache of tiles that is never stale
//
// A tile of revision r shows exactly the writes up to r to its area, and is right as
// long as no other one to the area was acknowledged; both is known from
// store.Collection.Changes, which argues it. So nobody tells the cache of writes:
// each request asks how far the area has got, and takes a kept tile only if that is
// its revision.
//
//	request   ended of the area == r of the tile, and nothing has expired since?
//	            yes  the kept tile
//	            no   draw it; keep it if it is of one revision
//
// A tile that could not be said to be of one revision, because a write was under way
// in its area, is given once and not kept.
//
// Requests that want the same tile at the same time wait for one of them to draw it,
// and then ask the question above, as if it had been kept before. What was drawn
// before a write that a waiting request must see has an older revision, so that
// one draws again, or waits for one who has begun after it came: what that one draws
// it may have as it is. So a request waits for two drawings at most, also where
// none is of one revision.

// Cache draws tiles and keeps them. All methods are safe for concurrent use.
type Cache struct {
	b     Builder
	bytes int64

	mu      sync.Mutex
	tiles   map[key]*list.Element // of *kept
	recent  list.List             // the latest used first
	size    int64
	drawing map[key]*flight
	stats   CacheStats
}

// CacheStats count what became of requests.
type CacheStats struct {
	Hits, Misses uint64
	// Waits for a tile that somebody else was drawing.
	Waits uint64
	// Uncertain tiles were drawn while a write was under way, and not kept.
	Uncertain uint64
	// Evicted tiles made room for others.
	Evicted uint64
	Tiles   int
	Bytes   int64
}

// key says which tile it is. The name is in the tile.
type key struct {
	c             *store.Collection
	name, options string
	z, x, y       int
}

type kept struct {
	key  key
	tile Tile
}

// flight is a tile that is drawn for all who want it.
type flight struct {
	done chan struct{}
	tile Tile // when done, if ok
	ok   bool
}

// keptBytes is what a tile takes besides its data: key, list element, two entries of
// maps.
const keptBytes = 400

// NewCache keeps at most so many bytes of tiles; 0: none.
func NewCache(bytes int64, b Builder) *Cache {
	return &Cache{b: b, bytes: bytes, tiles: map[key]*list.Element{}, drawing: map[key]*flight{}}
}

// optionsKey is equal for equal options.
func (o *Options) key() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%t %q %q", o.NoProperties, o.Filter, o.Fields)
	return b.String()
}

// Tile is Builder.Tile, from memory if it is known to be the same.
func (c *Cache) Tile(ctx context.Context, of *store.Collection, z, x, y int, o Options) (Tile, error) {
	d, err := c.b.prepare(of, z, x, y, o)
	if err != nil {
		return Tile{}, err
	}
	k := key{of, of.Name(), o.key(), z, x, y}
	for waited := false; ; waited = true {
		t, f, mine, err := c.get(k, d)
		switch {
		case err != nil:
			return Tile{}, err
		case f == nil:
			return t, nil
		case mine:
			return c.draw(ctx, k, d, f)
		}
		select {
		case <-f.done:
		case <-ctx.Done():
			return Tile{}, ctx.Err()
		}
		if waited && f.ok {
			return f.tile, nil // It began when the one before had ended.
		}
	}
}

// get is the kept tile, if it is right. Else f is who draws it, which is the caller's
// task if it is mine.
func (c *Cache) get(k key, d *drawing) (t Tile, f *flight, mine bool, err error) {
	now, err := d.c.Changes(d.q.Boxes())
	if err != nil {
		return t, nil, false, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.tiles[k]; e != nil {
		if t := e.Value.(*kept).tile; t.revision == now.Ended && (t.until == 0 || now.Now < t.until) {
			c.recent.MoveToFront(e)
			c.stats.Hits++
			return t, nil, false, nil
		}
	}
	if f = c.drawing[k]; f != nil {
		c.stats.Waits++
		return t, f, false, nil
	}
	f = &flight{done: make(chan struct{})}
	c.drawing[k] = f
	c.stats.Misses++
	return t, f, true, nil
}

// draw draws a tile, and keeps it.
func (c *Cache) draw(ctx context.Context, k key, d *drawing, f *flight) (t Tile, err error) {
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		switch {
		case !f.ok:
		case t.ETag == "":
			c.stats.Uncertain++
		default:
			c.keep(k, t)
		}
		delete(c.drawing, k)
		close(f.done)
	}()
	t, err = d.tile(ctx)
	f.tile, f.ok = t, err == nil
	return t, err
}

// keep keeps a tile, and makes room for it. mu is held.
func (c *Cache) keep(k key, t Tile) {
	if e := c.tiles[k]; e != nil {
		c.forget(e)
	}
	if size(k, t) > c.bytes {
		return
	}
	c.tiles[k] = c.recent.PushFront(&kept{k, t})
	for c.size += size(k, t); c.size > c.bytes; c.stats.Evicted++ {
		c.forget(c.recent.Back())
	}
}

func size(k key, t Tile) int64 {
	return int64(cap(t.Data)+len(k.name)+len(k.options)+len(t.ETag)) + keptBytes
}

// forget lets go of a tile. mu is held.
func (c *Cache) forget(e *list.Element) {
	v := c.recent.Remove(e).(*kept)
	delete(c.tiles, v.key)
	c.size -= size(v.key, v.tile)
}

// Forget lets go of all tiles of a collection, such as one that was dropped.
func (c *Cache) Forget(of *store.Collection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k, e := range c.tiles {
		if k.c == of {
			c.forget(e)
		}
	}
}

// Stats of the cache.
func (c *Cache) Stats() CacheStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.stats
	s.Tiles, s.Bytes = len(c.tiles), c.size
	return s
}
