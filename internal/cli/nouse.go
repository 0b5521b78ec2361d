package cli

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/datasets"
	"github.com/catfish-index/catfish/internal/policy"
)

// A typed flag that does nothing is bad usage: its user expects something else
// than would happen.

// NoUse refuses the flags that were typed. why completes "--x does nothing".
// Without a command line, fs is nil.
func NoUse(fs *pflag.FlagSet, why string, flags ...string) error {
	if fs == nil {
		return nil
	}
	for _, name := range flags {
		if fs.Changed(name) {
			return BadUsage("--%s does nothing %s", name, why)
		}
	}
	return nil
}

// FirstOf returns the first error.
func FirstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// FabricFlagNames are the flags of FabricFlags.
var FabricFlagNames = []string{"fabric-provider", "fabric-device", "fabric-addr"}

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
		return BadUsage("--transport %s %s: that uses plain sockets, which are --transport tcp", f.transport, with)
	}
	if err := f.noFabric(s); err != nil || !f.searches {
		return err
	}
	if sends(s) {
		return FirstOf(NoUse(f.flags, with+", which never reads the tree itself", "cache-bytes", "trust-cache"),
			NoUse(f.flags, with+", which keeps no references", "shared-pointers"))
	}
	if f.cacheBytes < 0 || f.cacheBytes == 0 && !s.Cached {
		return NoUse(f.flags, "without a cache: want --cache-bytes, too", "trust-cache", "shared-pointers")
	}
	return nil
}

func (f *clientFlags) noFabric(s policy.Scheme) error {
	switch {
	case s.TCP:
		return NoUse(f.flags, "with --policy "+s.Name, FabricFlagNames...)
	case f.transport != catfish.TransportAuto && f.transport != catfish.TransportOFI:
		return NoUse(f.flags, "with --transport "+f.transport, FabricFlagNames...)
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
		errs = append(errs, NoUse(f.flags, "without a generator", "objects", "seed"))
	}
	if !osm {
		errs = append(errs, NoUse(f.flags, "without an OpenStreetMap file", "osm", "highways"))
	}
	if f.osm == string(datasets.TaggedNodes) {
		errs = append(errs, NoUse(f.flags, "with --osm nodes", "highways"))
	}
	if !keeps {
		errs = append(errs, NoUse(f.flags, "without an OpenStreetMap, GeoJSON or road file", "read-memory"))
	}
	return FirstOf(errs...)
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
		errs = append(errs, NoUse(f.flags, "without --load", sourceFlagNames...))
	}
	with := "with --transport " + f.transport
	if !has(catfish.TransportSHM) {
		errs = append(errs, NoUse(f.flags, with, "socket", "socket-mode"))
	}
	if !has(catfish.TransportOFI) {
		errs = append(errs, NoUse(f.flags, with, FabricFlagNames...))
	}
	if !has(catfish.TransportSHM, catfish.TransportSoft, catfish.TransportOFI) {
		errs = append(errs, NoUse(f.flags, with, "workers", "worker-cpus", "polling", "worker-per-connection"))
	}
	return FirstOf(errs...)
}
