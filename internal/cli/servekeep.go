package cli

import (
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/store/disk"
)

// keepFlags are the flags of 'serve' about collections of features, and persistence.
type keepFlags struct {
	placeFlags
	kind, sync string
	features   []string
	into       string // the collection of features to load into; empty: none
	boxes      bool   // collections of boxes are persistent, too
	records    bool   // and those of records
}

func (f *serveFlags) registerKeep(c *cobra.Command) {
	k, o := &f.keep, &f.opts.Server
	k.register(c)
	fs := c.Flags()
	fs.StringVar(&k.kind, "kind", "", "what --load makes of files: boxes or features; empty: features if --collection names a\n"+
		"collection and the files hold places, which CSV with the header of boxes, rea02, road and generators do not")
	fs.StringSliceVar(&k.features, "features", nil, "collections of features to serve (catfish features)")
	fs.StringVar(&o.DataDir, "data-dir", "", "directory where all features are kept, made if it is missing; empty: in memory alone")
	fs.BoolVar(&k.boxes, "keep", false, "with --data-dir: the boxes of --collection are kept there, too")
	fs.BoolVar(&k.records, "keep-records", false, "with --data-dir: the records of --records are kept there, too; a member of a group (--coordinators)\n"+
		"keeps them in any case")
	fs.StringVar(&k.sync, "sync", "always", "with --data-dir, when a write is durable: always (before it is answered), an interval such as\n"+
		"100ms (what a crash may lose), or off (survives the process, not the machine)")
	fs.Var(byteSize{&o.LogBytes}, "log-bytes", "with --data-dir: about how much of the log is kept, such as 1GiB; 0: 256MiB")
	fs.BoolVar(&o.AcceptLoss, "accept-loss", false, "with --data-dir: serve what is left if acknowledged writes are missing there, instead of not starting;\n"+
		"what is lost is logged, and all files are kept in damaged-N of the directory")
	fs.StringVar(&o.BackupDir, "backup-dir", "", "with --data-dir: where 'catfish backup' of clients may write; empty: nowhere")
	Complete(c, "kind", catfish.KindBoxes, catfish.KindFeatures)
	Complete(c, "sync", "always", "100ms", "off")
	_ = c.MarkFlagDirname("data-dir") // fails for a flag that there is not
	_ = c.MarkFlagDirname("backup-dir")
}

// keepOptions checks those flags. It moves the collection to load from the boxes to
// the features if it is to have features.
func (f *serveFlags) keepOptions(o *catfish.ServerOptions) (err error) {
	k := &f.keep
	if k.kind != "" && k.kind != catfish.KindBoxes && k.kind != catfish.KindFeatures {
		return BadUsage("--kind is %q, want boxes or features", k.kind)
	}
	if o.DataDir == "" {
		if err := NoUse(f.flags, "without --data-dir", "keep", "keep-records", "sync", "log-bytes", "backup-dir", "accept-loss"); err != nil {
			return err
		}
	}
	if o.LogBytes < 0 {
		return BadUsage("--log-bytes is %d, want 0 (default) or more", o.LogBytes)
	}
	if o.Sync, err = parseSync(k.sync); err != nil {
		return err
	}
	kind := k.kind
	named := f.flags != nil && f.flags.Changed("collection")
	if named { // A collection that both flags name has features.
		if first := f.collections[0]; len(f.load) > 0 && slices.Contains(k.features, first) {
			if kind == catfish.KindBoxes {
				return BadUsage("--kind boxes: --features lists collection %s, which --load fills", first)
			}
			kind = catfish.KindFeatures
			k.features = slices.DeleteFunc(k.features, func(name string) bool { return name == first })
		}
		f.collections = slices.DeleteFunc(f.collections, func(name string) bool { return slices.Contains(k.features, name) })
	}
	if kind == "" {
		kind = catfish.KindBoxes
		if len(f.load) > 0 && (named && f.collections[0] != catfish.DefaultCollection || !named && len(k.features) > 0) {
			kind = f.boxesOrPlaces(f.load)
		}
	}
	o.Features = map[string]catfish.FeaturesOptions{}
	if kind == catfish.KindFeatures {
		switch {
		case !named && len(k.features) == 1: // There is no other choice.
			k.into, k.features = k.features[0], nil
		case !named && len(k.features) > 1:
			return BadUsage("--load with --features %s: want --collection NAME, of the one that is loaded, and the others with --features",
				strings.Join(k.features, ","))
		case f.collections[0] == catfish.DefaultCollection:
			return BadUsage("--kind features: collection default is of boxes, want --collection NAME")
		default:
			k.into, f.collections = f.collections[0], f.collections[1:]
		}
		o.Features[k.into] = k.space()
		if err := NoUse(f.flags, "for a collection of features", boxFlagNames...); err != nil {
			return err
		}
	} else if err := NoUse(f.flags, "without a collection of features to load: see --kind", placeFlagNames...); err != nil {
		return err
	}
	if k.boxes {
		if len(f.collections) == 0 {
			return BadUsage("--keep keeps boxes, and all of --collection has features, which are kept in any case")
		}
		o.Keep = f.collections
	}
	if k.records {
		if len(o.Records) == 0 {
			return BadUsage("--keep-records keeps the collections of --records, and there are none")
		}
		o.Keep = slices.Concat(o.Keep, o.Records)
	}
	for _, name := range k.features {
		if _, twice := o.Features[name]; twice || slices.Contains(f.collections, name) || slices.Contains(o.Records, name) {
			return BadUsage("--features lists %s, which is a collection already", name)
		}
		o.Features[name] = catfish.FeaturesOptions{}
	}
	return nil
}

func parseSync(s string) (disk.Sync, error) {
	switch s {
	case "always", "":
		return disk.SyncAlways, nil
	case "off":
		return disk.SyncOff, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return disk.Sync{}, BadUsage("--sync is %q, want always, off, or an interval such as 100ms", s)
	}
	return disk.SyncInterval(d), nil
}
