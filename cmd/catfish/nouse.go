package main

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/datasets"
	"github.com/catfish-index/catfish/policy"
)

// A typed flag that does nothing is bad usage: its user expects something else
// than would happen.

// noUse refuses the flags that were typed. why completes "--x does nothing".
// Without a command line, fs is nil.
func noUse(fs *pflag.FlagSet, why string, flags ...string) error {
	if fs == nil {
		return nil
	}
	for _, name := range flags {
		if fs.Changed(name) {
			return badUsage("--%s does nothing %s", name, why)
		}
	}
	return nil
}

// firstOf returns the first error.
func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

var fabricFlagNames = []string{"fabric-provider", "fabric-device", "fabric-addr"}

// sends reports whether a scheme sends all searches to the server.
func sends(s policy.Scheme) bool { return s.TCP || s.Fetch || strings.HasPrefix(s.Name, "fast") }

// noUse of the flags of a client whose policy is known.
func (f *clientFlags) noUse(scheme string) error {
	s, err := policy.SchemeByName(scheme)
	if err != nil {
		return nil // Dial reports the error.
	}
	with := "with --policy " + s.Name
	if s.TCP && !slices.Contains([]string{catfish.TransportAuto, catfish.TransportTCP}, f.transport) {
		return badUsage("--transport %s %s: that uses plain sockets, which are --transport tcp", f.transport, with)
	}
	if err := f.noFabric(s); err != nil || !f.searches {
		return err
	}
	if sends(s) {
		return noUse(f.flags, with+", which never reads the tree itself", "cache-bytes", "trust-cache")
	}
	if f.cacheBytes < 0 || f.cacheBytes == 0 && !s.Cached {
		return noUse(f.flags, "without a cache: want --cache-bytes, too", "trust-cache")
	}
	return nil
}

func (f *clientFlags) noFabric(s policy.Scheme) error {
	switch {
	case s.TCP:
		return noUse(f.flags, "with --policy "+s.Name, fabricFlagNames...)
	case f.transport != catfish.TransportAuto && f.transport != catfish.TransportOFI:
		return noUse(f.flags, "with --transport "+f.transport, fabricFlagNames...)
	}
	return nil
}

// noUse of the flags of sources that were opened.
func (f *sourceFlags) noUse(sources []*datasets.Source) error {
	var generator, osm, keeps bool
	for _, s := range sources {
		switch s.Format() {
		case datasets.Generated:
			generator = true
		case datasets.OSM:
			osm, keeps = true, true
		case datasets.GeoJSON, datasets.Road:
			keeps = true
		}
	}
	var errs []error
	if !generator {
		errs = append(errs, noUse(f.flags, "without a generator", "objects", "seed"))
	}
	if !osm {
		errs = append(errs, noUse(f.flags, "without an OpenStreetMap file", "osm", "highways"))
	}
	if f.osm == string(datasets.TaggedNodes) {
		errs = append(errs, noUse(f.flags, "with --osm nodes", "highways"))
	}
	if !keeps {
		errs = append(errs, noUse(f.flags, "without an OpenStreetMap, GeoJSON or road file", "read-memory"))
	}
	return firstOf(errs...)
}

// sourceFlagNames are all flags of sourceFlags.
var sourceFlagNames = []string{"format", "osm", "highways", "objects", "seed", "read-memory"}

// noUse of the flags of a server.
func (f *serveFlags) noUse(transports []string) error {
	has := func(names ...string) bool {
		return transports == nil || slices.ContainsFunc(names, func(n string) bool { return slices.Contains(transports, n) })
	}
	var errs []error
	if len(f.load) == 0 {
		errs = append(errs, noUse(f.flags, "without --load", sourceFlagNames...))
	}
	with := "with --transport " + f.transport
	if !has(catfish.TransportSHM) {
		errs = append(errs, noUse(f.flags, with, "socket", "socket-mode"))
	}
	if !has(catfish.TransportOFI) {
		errs = append(errs, noUse(f.flags, with, fabricFlagNames...))
	}
	if !has(catfish.TransportSHM, catfish.TransportSoft, catfish.TransportOFI) {
		errs = append(errs, noUse(f.flags, with, "workers", "polling", "worker-per-connection"))
	}
	return firstOf(errs...)
}

func isGenerator(dataset string) bool {
	return slices.Contains([]string{"uniform", "skewed", "rea02-like"}, dataset)
}

// noObjects: only generators take a number of objects.
func noObjects(fs *pflag.FlagSet, dataset string) error {
	if isGenerator(dataset) {
		return nil
	}
	return noUse(fs, "with "+dataset+", which is no generator", "objects")
}

// noTransport is about the transport of measured schemes.
func noTransport(fs *pflag.FlagSet, transport string, schemes []string) error {
	if slices.Equal(schemes, []string{"tcp"}) {
		errs := noUse(fs, "with scheme tcp alone", append([]string{"worker-per-connection"}, fabricFlagNames...)...)
		if transport != catfish.TransportTCP {
			errs = firstOf(errs, noUse(fs, "with scheme tcp alone", "transport"))
		}
		return errs
	}
	if transport != catfish.TransportAuto && transport != catfish.TransportOFI {
		return noUse(fs, "with --transport "+transport, fabricFlagNames...)
	}
	return nil
}

// noWrites: the flags of inserts only matter for a mix with inserts.
func noWrites(fs *pflag.FlagSet, mix bench.Mix) error {
	if mix[bench.Insert]+mix[bench.Delete]+mix[bench.Update] > 0 {
		return nil
	}
	return noUse(fs, "with --mix "+mix.String(), "inserts")
}

// noBatch: only searches are batched.
func noBatch(fs *pflag.FlagSet, mix bench.Mix) error {
	if mix[bench.Search] > 0 {
		return nil
	}
	return noUse(fs, "with --mix "+mix.String(), "batch")
}
