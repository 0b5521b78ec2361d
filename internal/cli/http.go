package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/catfish/daemon"
	"github.com/catfish-index/catfish/internal/child"
	"github.com/catfish-index/catfish/internal/engine"
	"github.com/catfish-index/catfish/internal/web"
)

// registerHTTP adds the flags of 'serve' about HTTP.
func (f *serveFlags) registerHTTP(c *cobra.Command) {
	fs, o := c.Flags(), &f.opts.HTTP
	fs.StringVar(&o.Addr, "http", "", "host:port to serve features on over HTTP (OGC API - Features), empty: none")
	fs.StringVar(&o.URL, "http-url", "", "how clients reach --http through a proxy, such as https://example.org/places; empty: as they say. Without\n"+
		"--keys, --http on a loopback address serves only localhost, IP addresses and this host")
	fs.StringVar(&o.Origin, "http-cors", "", "web site whose pages may use --http, such as https://example.org, or * for all; empty: none")
	fs.BoolVar(&f.engineLoad, "engine-load", false, "the engine room of --http (/engine) may start clients that search, in processes of their own: at most\n"+
		fmt.Sprintf("%d, for %d s, one load at a time; with --keys it takes role admin of *", engine.MaxClients, engine.MaxSeconds))
	fs.StringVar(&o.Time, "http-time", "datetime", "property that has the time of a feature, for parameter datetime of --http")
	fs.StringVar(&o.Basemap.URL, "http-basemap", "", "map under the places of the page of --http: the address of its pictures, such as\n"+
		"https://tile.example.org/{z}/{x}/{y}.png, which browsers ask that server for; empty: the land that the page has")
	fs.StringVar(&o.Basemap.Attribution, "http-basemap-attribution", "", "whose map --http-basemap is, in plain text; empty: its host")
	fs.Var(byteSize{&o.TileBytes}, "http-tiles", "bytes of vector tiles that --http keeps, such as 256MiB, at most half of what HTTP may take of\n"+
		"--memory-limit; 0: a quarter of that")
}

// checkHTTP refuses flags that would do nothing.
func (f *serveFlags) checkHTTP() error {
	if f.opts.HTTP.Basemap.URL == "" {
		if err := NoUse(f.flags, "without --http-basemap", "http-basemap-attribution"); err != nil {
			return err
		}
	}
	if f.opts.HTTP.Addr != "" {
		return nil
	}
	return NoUse(f.flags, "without --http", "http-url", "http-cors", "http-time", "http-tiles", "http-basemap", "engine-load")
}

// addEngine adds the engine room to the pages of HTTP.
func (f *serveFlags) addEngine(o *daemon.Options) error {
	if o.HTTP.Addr == "" {
		return nil
	}
	var spawn child.Spawn
	if f.engineLoad {
		var err error
		if spawn, err = loadSpawner(); err != nil {
			return err
		}
	}
	var calls *engine.Service
	if o.GRPC.Addr != "" {
		calls = engine.NewGRPC()
		o.GRPC.Options = calls.CallOptions()
	}
	*o = daemon.WithEngine(*o, func(srv *catfish.Server) web.Engine {
		return engine.New(engine.Options{Server: srv, Spawn: spawn, GRPC: calls})
	})
	return nil
}
