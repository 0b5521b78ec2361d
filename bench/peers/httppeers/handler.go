//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/maptile"

	"github.com/catfish-index/catfish/bench/harness"
)

// backend is the database of a handler.
type backend interface {
	// items appends up to limit features of a box as GeoJSON, with commas
	// between them, and returns their number.
	items(ctx context.Context, dst []byte, box [4]float64, limit int) ([]byte, int, error)
	// tile appends a vector tile.
	tile(ctx context.Context, dst []byte, z, x, y int) ([]byte, error)
	close()
}

// handler is the layer between HTTP and the databases, as thin as possible.
//
//	GET /items?bbox=w,s,e,n&limit=N   a FeatureCollection
//	GET /tiles/z/x/y.mvt              a vector tile
func handler(b backend) http.Handler {
	bodies := sync.Pool{New: func() any { return new([]byte) }}
	answer := func(contentType string, f func(r *http.Request, dst []byte) ([]byte, error)) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			// A query continues after its client has disconnected, as at the
			// end of each run: pgx would close the connection, and the next run
			// would begin with a new one.
			r = r.WithContext(context.WithoutCancel(r.Context()))
			body := bodies.Get().(*[]byte)
			defer bodies.Put(body)
			out, err := f(r, (*body)[:0])
			if err != nil {
				status := http.StatusInternalServerError
				if errors.Is(err, strconv.ErrSyntax) || errors.Is(err, strconv.ErrRange) {
					status = http.StatusBadRequest
				}
				http.Error(w, err.Error(), status)
				return
			}
			*body = out
			w.Header().Set("Content-Type", contentType)
			w.Header().Set("Content-Length", strconv.Itoa(len(out)))
			_, _ = w.Write(out) // A disconnected client gets nothing.
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /items", answer("application/geo+json", func(r *http.Request, dst []byte) ([]byte, error) {
		box, limit, err := itemsParams(r)
		if err != nil {
			return nil, err
		}
		dst = append(dst, `{"type":"FeatureCollection","features":[`...)
		dst, n, err := b.items(r.Context(), dst, box, limit)
		dst = append(dst, `],"numberReturned":`...)
		return append(strconv.AppendInt(dst, int64(n), 10), '}'), err
	}))
	mux.HandleFunc("GET /tiles/{z}/{x}/{y}", answer("application/vnd.mapbox-vector-tile", func(r *http.Request, dst []byte) ([]byte, error) {
		var zxy [3]int
		for i, text := range []string{r.PathValue("z"), r.PathValue("x"), strings.TrimSuffix(r.PathValue("y"), ".mvt")} {
			var err error
			if zxy[i], err = strconv.Atoi(text); err != nil {
				return nil, err
			}
		}
		return b.tile(r.Context(), dst, zxy[0], zxy[1], zxy[2])
	}))
	return mux
}

// itemsParams reads bbox and limit.
func itemsParams(r *http.Request) (box [4]float64, limit int, err error) {
	q := r.URL.Query()
	text := strings.Split(q.Get("bbox"), ",")
	if len(text) != len(box) {
		return box, 0, fmt.Errorf("bbox %q has %d numbers, want 4: %w", q.Get("bbox"), len(text), strconv.ErrSyntax)
	}
	for i := range box {
		if box[i], err = strconv.ParseFloat(text[i], 64); err != nil {
			return box, 0, err
		}
	}
	limit, err = strconv.Atoi(q.Get("limit"))
	return box, limit, err
}

// handlerArg makes this program a handler: handlerArg NAME ADDRESS.
const handlerArg = "handler"

// serveHandler runs a handler. It ends with its input.
func serveHandler(ctx context.Context, name, addr string) (err error) {
	var b backend
	switch name {
	case "postgis":
		b, err = openPostGIS(ctx, addr)
	case "tile38":
		b, err = openTile38(addr)
	default:
		err = fmt.Errorf("%w: handler %q", errUsage, name)
	}
	if err != nil {
		return err
	}
	defer b.close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s := &http.Server{Handler: handler(b), ReadHeaderTimeout: time.Minute}
	stop := context.AfterFunc(ctx, func() { s.Close() })
	defer stop()
	fmt.Printf("ready http=%s\n", l.Addr())
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// handled is a peer with a handler.
func handled(name string) *peer {
	return &peer{
		name: name,
		items: func(b orb.Bound, limit int) string {
			return fmt.Sprintf("/items?bbox=%s&limit=%d", bbox(b), limit)
		},
		tile: func(t maptile.Tile) string { return fmt.Sprintf("/tiles/%d/%d/%d.mvt", t.Z, t.X, t.Y) },
	}
}

// startHandler starts this program as a handler.
func startHandler(ctx context.Context, p *peer, s *setup, name, addr string) (err error) {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	h, err := harness.StartProgram(s.cfg.serverCPUs, nil, s.dir, self, handlerArg, name, addr)
	if err != nil {
		return err
	}
	p.push(func() error { return h.Stop(syscall.SIGINT) })
	p.addr, err = awaitReady(ctx, h)
	return err
}

// withClosed closes what was started before starting failed.
func withClosed(err error, c io.Closer) error { return errors.Join(err, c.Close()) }
