package tile

import (
	"container/list"
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/catfish-index/catfish/internal/whole"
)

// A cache of tiles that is never stale
//
// A tile of revision r shows exactly the writes up to r to its area, and is
// valid as long as no later write to the area was acknowledged. Both follow
// from store.Collection.Changes, whose comment argues it. So no write has to
// notify the cache: each request asks for the area's revision, and takes a
// cached tile only if that is its revision.
//
//	request   ended of the area == r of the tile, and nothing has expired since?
//	            yes  the kept tile
//	            no   draw it; keep it if it is of one revision
//
// A tile for which no single revision can be given, because a write was in
// flight in its area, is returned once and not kept.
//
// Requests that want the same tile at the same time wait for one of them to draw
// it, and then ask the question above, as if it had been cached before. A tile
// drawn before a write that a waiting request must see has an older revision. So
// one request draws again, or waits for a drawing that began after the request
// came, whose result it may take unchanged. So a request waits for two drawings at
// most, even if neither is of one revision. If Options.Bound limits the drawings,
// requests wait for it before they are registered as drawing a tile: a registered
// tile is being drawn, and no request waits for a tile that is queued.

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

// CacheStats counts the outcomes of requests.
type CacheStats struct {
	Hits, Misses uint64
	// Waits for a tile that another request was drawing.
	Waits uint64
	// Uncertain tiles were drawn while a write was in flight, and not kept.
	Uncertain uint64
	// Evicted tiles made room for others.
	Evicted uint64
	Tiles   int
	Bytes   int64 // that they use
	Limit   int64 // that they may use
}

// key identifies a tile. The name is in the tile. The collection is identified
// by its number (store.Changes): a pointer would keep a dropped one in memory,
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

// flight is a tile that one request draws for all that want it.
type flight struct {
	done chan struct{}
	tile Tile // when done, if ok
	ok   bool
}

// keptBytes is what a tile takes in addition to its data: key, list element,
// two map entries.
const keptBytes = 400

// NewCache keeps at most this number of bytes of tiles; 0: none.
func NewCache(bytes int64, b Builder) *Cache {
	return &Cache{b: b, bytes: bytes, tiles: map[key]*list.Element{}, drawing: map[key]*flight{}}
}

// key is equal for options that give equal tiles.
func (o *Options) key() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%t %q %q %q", o.NoProperties, o.Filter, o.Fields, o.Where.String())
	if o.Coding != nil {
		b.WriteString(" " + o.Coding.Name)
	}
	return b.String()
}

// Tile is Builder.Tile, from memory if it is known to be the same. With each
// Options.Coding it is a different tile, drawn separately.
func (c *Cache) Tile(ctx context.Context, of whole.Collection, z, x, y int, o Options) (Tile, error) {
	d, err := c.b.prepare(of, z, x, y, o)
	if err != nil {
		return Tile{}, err
	}
	if of.Several() { // Of which state it is is not known.
		var t Tile
		if stopped := d.bound(ctx, func() { t, err = d.tile(ctx) }); stopped != nil {
			err = stopped
		}
		return t, err
	}
	k := key{name: of.Name(), options: o.key(), z: z, x: x, y: y}
	// The first drawing may have begun before this request; later ones have not.
	for later := false; ; later = true {
		t, f, err := c.get(&k, d, nil)
		if f == nil && err == nil && t == nil {
			later = true
			mine := &flight{done: make(chan struct{})}
			if stopped := d.bound(ctx, func() {
				// Another request may have come first while this one waited.
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

// bound calls draw when few other tiles are drawn.
func (d *drawing) bound(ctx context.Context, draw func()) error {
	if d.o.Bound == nil {
		draw()
		return nil
	}
	return d.o.Bound(ctx, draw)
}

// get returns the cached tile if it is valid. Otherwise f is the drawing in
// progress. If there is none, mine is registered, unless it is nil, and returned.
func (c *Cache) get(k *key, d *drawing, mine *flight) (t *Tile, f *flight, err error) {
	now, err := d.changes()
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
	defer func() { // Also if a condition panics: other requests wait.
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

// forget removes a tile. mu is held.
func (c *Cache) forget(e *list.Element) {
	v := c.recent.Remove(e).(*kept)
	delete(c.tiles, v.key)
	c.size -= size(v.key, v.tile)
}

// Stats returns the counters of the cache.
func (c *Cache) Stats() CacheStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.stats
	s.Tiles, s.Bytes, s.Limit = len(c.tiles), c.size, c.bytes
	return s
}
