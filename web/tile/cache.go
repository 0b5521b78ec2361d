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
// none is of one revision. If only a few may draw at a time (Options.Bound), requests
// wait for their turn before they are known to draw a tile: what is said to be drawn is
// being drawn, and nobody waits for a tile whose drawer waits behind others.

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
	Bytes   int64 // that they take
	Limit   int64 // that they may take
}

// key says which tile it is. The name is in the tile. The collection is known by its
// number (store.Changes): a pointer would keep one in memory that was dropped, and
// which no request finds any more.
type key struct {
	boot          uint64
	collection    uint32
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

// key is equal for options that give equal tiles.
func (o *Options) key() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%t %q %q %q", o.NoProperties, o.Filter, o.Fields, o.AlsoName)
	if o.Coding != nil {
		b.WriteString(" " + o.Coding.Name)
	}
	return b.String()
}

// Tile is Builder.Tile, from memory if it is known to be the same. Options.Coding makes
// another tile of it, which is drawn for itself.
func (c *Cache) Tile(ctx context.Context, of *store.Collection, z, x, y int, o Options) (Tile, error) {
	d, err := c.b.prepare(of, z, x, y, o)
	if err != nil {
		return Tile{}, err
	}
	k := key{name: of.Name(), options: o.key(), z: z, x: x, y: y}
	// Whoever draws it now may have begun before this request; later ones have not.
	for later := false; ; later = true {
		t, f, err := c.get(&k, d, nil)
		if f == nil && err == nil && t == nil {
			later = true
			mine := &flight{done: make(chan struct{})}
			if stopped := d.bound(ctx, func() {
				// Somebody else may have come first while this one waited.
				if t, f, err = c.get(&k, d, mine); f == mine {
					f = nil
					t, err = c.draw(ctx, k, d, mine)
				}
			}); stopped != nil {
				return Tile{}, stopped
			}
		}
		switch {
		case err != nil:
			return Tile{}, err
		case t != nil:
			return *t, nil
		}
		select {
		case <-f.done:
		case <-ctx.Done():
			return Tile{}, ctx.Err()
		}
		if later && f.ok {
			return f.tile, nil
		}
	}
}

// bound has draw called when few others draw.
func (d *drawing) bound(ctx context.Context, draw func()) error {
	if d.o.Bound == nil {
		draw()
		return nil
	}
	return d.o.Bound(ctx, draw)
}

// get is the kept tile, if it is right. Else f is who draws it, nil: nobody. That is
// mine then, if it is not nil.
func (c *Cache) get(k *key, d *drawing, mine *flight) (t *Tile, f *flight, err error) {
	now, err := d.c.Changes(d.q.Boxes())
	if err != nil {
		return nil, nil, err
	}
	k.boot, k.collection = now.Boot, now.Collection
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.tiles[*k]; e != nil {
		if t := &e.Value.(*kept).tile; t.revision == now.Ended && (t.until == 0 || now.Now < t.until) {
			c.recent.MoveToFront(e)
			c.stats.Hits++
			return t, nil, nil
		}
	}
	if f = c.drawing[*k]; f != nil {
		c.stats.Waits++
		return nil, f, nil
	}
	if mine != nil {
		c.drawing[*k] = mine
		c.stats.Misses++
	}
	return nil, mine, nil
}

// draw draws a tile, and keeps it.
func (c *Cache) draw(ctx context.Context, k key, d *drawing, f *flight) (*Tile, error) {
	defer func() { // Also if a condition panics: others wait.
		c.mu.Lock()
		defer c.mu.Unlock()
		switch {
		case !f.ok:
		case f.tile.ETag == "":
			c.stats.Uncertain++
		default:
			c.keep(k, f.tile)
		}
		delete(c.drawing, k)
		close(f.done)
	}()
	t, err := d.tile(ctx)
	if err != nil {
		return nil, err
	}
	f.tile, f.ok = t, true
	return &f.tile, nil
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

// Stats of the cache.
func (c *Cache) Stats() CacheStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.stats
	s.Tiles, s.Bytes, s.Limit = len(c.tiles), c.size, c.bytes
	return s
}
