package web

import "testing"

// TestShare: cached tiles, drawings and requests have the memory of HTTP together.
func TestShare(t *testing.T) {
	for _, c := range []struct{ tiles, bytes, want, least int64 }{
		{0, 64 << 20, 16 << 20, 40 << 20}, {1 << 20, 64 << 20, 1 << 20, 55 << 20}, {32 << 20, 64 << 20, 32 << 20, 24 << 20}, {0, 2 << 20, 1 << 19, 1 << 20},
	} {
		o := Options{TileCacheBytes: c.tiles}
		o.Share(c.bytes)
		if o.TileCacheBytes != c.want || o.MaxAnswerBytes < c.least || o.MaxDrawings < 1 || o.MaxAnswerBytes+o.TileCacheBytes > c.bytes ||
			o.MaxDrawings > 1 && o.MaxAnswerBytes+o.TileCacheBytes+int64(o.MaxDrawings)*DrawingBytes > c.bytes {
			t.Errorf("%+v: %+v", c, o)
		}
	}
}
