package daemon

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/catfish-index/catfish/internal/web"
	"github.com/catfish-index/catfish/internal/wire"
)

// openHTTP makes the HTTP service. It serves features once they are loaded.
func (d *Daemon) openHTTP() error {
	o := &d.o.HTTP
	if o.Addr == "" {
		return nil
	}
	s, err := d.listen("HTTP", o.Addr, &d.addrs.HTTP)
	if err != nil {
		return err
	}
	w := web.Options{
		Title: o.Title, Description: o.Description, URL: o.URL, Origin: o.Origin, Time: o.Time, Basemap: web.Basemap(o.Basemap),
		TileCacheBytes: o.TileBytes, Keys: d.o.Server.Keys, Ready: d.ready, Observe: d.request, Logger: d.log,
		Group: d.door(wire.StreamHTTP), Groups: d.whole,
	}
	w.Share(d.o.callBytes())
	if o.engine != nil {
		w.Engine = o.engine(d.srv)
	}
	site, err := web.New(d.srv, w)
	if err != nil {
		if w.Engine != nil {
			w.Engine.Close()
		}
		return badOption("HTTP.URL is %q, HTTP.Origin %q, HTTP.Basemap %q: %w", o.URL, o.Origin, o.Basemap.URL, err)
	}
	d.srv.ShowBudgets(site.Budgets)
	d.seen.tiles.Of(site.TileStats)
	d.loaded = append(d.loaded, site.ServeFeatures)
	s.serve = func(l net.Listener) error { return site.Serve(l, d.tls()) }
	s.stop = site.Shutdown
	d.openDoor("HTTP", wire.StreamHTTP, site.ServeMembers)
	return nil
}

// request observes a request that has ended.
func (d *Daemon) request(ctx context.Context, r web.Observed) {
	d.seen.request(r)
	level := slog.LevelInfo
	switch {
	case r.Status == http.StatusUnauthorized, r.Status == http.StatusForbidden, r.Status == http.StatusTooManyRequests,
		r.Status >= http.StatusInternalServerError:
		level = slog.LevelWarn // as for gRPC calls
	}
	if !d.log.Enabled(ctx, level) {
		return // without the list of values, which takes memory
	}
	args := []any{"method", method(r.Method), "route", r.Route, "status", r.Status, "bytes", r.Bytes, "took", r.Took.Round(time.Microsecond)}
	if r.Key != "" {
		args = append(args, "key", r.Key)
	}
	d.log.Log(ctx, level, "http request", args...)
}

// method is the name of a request's method. Clients could invent any number of names.
func method(name string) string {
	switch name {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return name
	}
	return "other"
}
