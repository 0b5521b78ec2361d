package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/kv"
)

// defaultRecords is the collection of the kv commands.
const defaultRecords = "records"

func newKV(a *App) *cobra.Command {
	c := &cobra.Command{
		Use:   "kv",
		Short: "Read and change records: values by key",
		Long: `Read and change records: values by key, in a collection of records of the
server. 'catfish serve --records NAME' has one from its start, and
'catfish collections create --records NAME' makes one. Its records are in memory
alone, unless they are kept: see --keep-records and --keep of these commands.`,
		Example: `  catfish collections create --records records
  catfish kv put cafe-7 '{"seats": 20}' --ttl 1h
  catfish kv get cafe-7
  catfish kv scan --json`,
	}
	Group(c)
	c.AddCommand(newKVGet(a), newKVPut(a), newKVAppend(a), newKVWait(a), newKVDelete(a), newKVScan(a))
	return c
}

// kvFlags are the flags of all kv commands.
type kvFlags struct{ clientFlags }

func (f *kvFlags) register(c *cobra.Command) {
	f.clientFlags.register(c)
	f.registerJSON(c)
	fl := c.Flags().Lookup("collection")
	fl.DefValue, fl.Usage = defaultRecords, "collection of records on the server"
	f.collection = defaultRecords
}

// dialRecords connects; the caller closes the Client.
func (f *kvFlags) dialRecords(ctx context.Context, a *App) (*catfish.Client, *catfish.Records, error) {
	cl, err := f.dial(ctx, a)
	if err != nil {
		return nil, nil, err
	}
	r, err := cl.Records(f.collection)
	if err != nil {
		cl.Close()
		return nil, nil, err
	}
	return cl, r, nil
}

// kvJSON is a record as JSON. Value is text; Bytes holds a value that is not text.
type kvJSON struct {
	Key      string     `json:"key"`
	Found    bool       `json:"found"`
	Value    *string    `json:"value,omitempty"`
	Bytes    []byte     `json:"value_base64,omitempty"`
	Revision uint64     `json:"revision,omitempty"`
	Expires  *time.Time `json:"expires,omitempty"`
	Flags    uint16     `json:"flags,omitempty"`
}

func recordJSON(r catfish.Record) kvJSON {
	j := kvJSON{Key: string(r.Key), Found: r.Revision != 0, Revision: r.Revision, Flags: r.Flags}
	if !j.Found {
		return j
	}
	if v := string(r.Value); utf8.ValidString(v) {
		j.Value = &v
	} else {
		j.Bytes = r.Value
	}
	if !r.Expires.IsZero() {
		j.Expires = &r.Expires
	}
	return j
}

// SharedPointersUsage is the help of --shared-pointers.
const SharedPointersUsage = "file by which this user's processes keep together where records are; auto: catfish-pointers in $XDG_RUNTIME_DIR"

func newKVGet(a *App) *cobra.Command {
	var f kvFlags
	var explain, raw bool
	c := &cobra.Command{
		Use:   "get KEY...",
		Short: "Print the values of keys",
		Long: `Print the value of a key as it is; of several keys a line each: key and value,
separated by a tab, quoted where they are not plain text. A key without a record
is an error, after all others were printed. With --raw the value's bytes and nothing
else, no line end either.`,
		Example: `  catfish kv get cafe-7
  catfish kv get cafe-7 cafe-8 --json
  catfish kv get map --raw > map.bin
  catfish kv get cafe-7 --policy offload --explain`,
		Args: Args(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, keys []string) error {
			if explain && len(keys) != 1 {
				return BadUsage("--explain with %d keys, want one", len(keys))
			}
			if raw && (len(keys) != 1 || explain || f.json) {
				return BadUsage("--raw is for one key, without --explain or --json")
			}
			cl, r, err := f.dialRecords(cmd.Context(), a)
			if err != nil {
				return err
			}
			defer cl.Close()
			if explain {
				rec, x, err := r.Explain(cmd.Context(), []byte(keys[0]))
				switch {
				case err != nil:
					return err
				case f.json:
					err = a.json(x)
				default:
					err = a.Printf("%s", explained(x))
				}
				if err == nil && rec.Revision == 0 {
					err = fmt.Errorf("%w: %q", kv.ErrNotFound, keys[0])
				}
				return err
			}
			if raw {
				rec, err := r.Get(cmd.Context(), []byte(keys[0]), nil)
				if err == nil {
					_, err = a.Out.Write(rec.Value)
				}
				return err
			}
			return a.kvGet(cmd.Context(), r, f.json, keys)
		},
	}
	f.register(c)
	f.registerSearch(c)
	c.Flags().StringVar(&f.pointers, "pointers", "", "where kept references come from: lookups (empty), or answers: a get by message asks for a lease, and so makes the key popular")
	Complete(c, "pointers", catfish.PointersLookups, catfish.PointersAnswers)
	c.Flags().StringVar(&f.sharedPointers, "shared-pointers", "", SharedPointersUsage)
	c.Flags().BoolVar(&explain, "explain", false, "tell how the key was looked up instead of its value")
	c.Flags().BoolVar(&raw, "raw", false, "print the value of one key as it is, without a line end")
	return c
}

func (a *App) kvGet(ctx context.Context, r *catfish.Records, asJSON bool, keys []string) error {
	all := make([][]byte, len(keys))
	for i, k := range keys {
		all[i] = []byte(k)
	}
	found, err := r.GetMany(ctx, all, nil)
	if err != nil {
		return err
	}
	var missing error
	out := make([]kvJSON, len(found))
	for i, rec := range found {
		out[i] = recordJSON(rec)
		switch {
		case rec.Revision == 0:
			if missing == nil {
				missing = fmt.Errorf("%w: %q", kv.ErrNotFound, keys[i])
			}
		case asJSON:
		case len(found) == 1:
			if err := a.Printf("%s\n", rec.Value); err != nil {
				return err
			}
		default:
			if err := a.Printf("%s\t%s\n", plain(rec.Key), plain(rec.Value)); err != nil {
				return err
			}
		}
	}
	if asJSON {
		if err := a.json(struct {
			Records []kvJSON `json:"records"`
		}{out}); err != nil {
			return err
		}
	}
	return missing
}

// plain prints text unchanged, and other bytes quoted.
func plain(b []byte) string {
	s := string(b)
	for _, r := range s {
		if r == utf8.RuneError || r == '"' || !unicode.IsPrint(r) {
			return strconv.Quote(s)
		}
	}
	return s
}

func newKVPut(a *App) *cobra.Command {
	var f kvFlags
	var ttl time.Duration
	var cond kv.Condition
	var flags uint16
	var file string
	c := &cobra.Command{
		Use:   "put KEY VALUE | put KEY --file FILE",
		Short: "Store a value under a key",
		Long: `Store a value under a key, in place of the one that is there. A VALUE of - is
standard input. Prints the revision of the record. A value may have 256 MiB, or a 36th
of the server's --memory-limit if that is less.`,
		Example: `  catfish kv put cafe-7 open --ttl 1h
  catfish kv put cafe-7 - --if-absent < cafe.json
  catfish kv put map --file map.bin
  catfish kv put cafe-7 closed --if-revision 12`,
		Args: Args(cobra.RangeArgs(1, 2)),
		RunE: func(cmd *cobra.Command, kv []string) error {
			if ttl < 0 {
				return BadUsage("--ttl is %v, want 0 (for good) or more", ttl)
			}
			if (len(kv) == 2) == (file != "") {
				return BadUsage("want a VALUE or --file, one of them")
			}
			rec := catfish.Record{Key: []byte(kv[0]), Flags: flags}
			var err error
			switch {
			case file != "":
				rec.Value, err = os.ReadFile(file)
			case kv[1] == "-":
				rec.Value, err = io.ReadAll(a.In)
			default:
				rec.Value = []byte(kv[1])
			}
			if err != nil {
				return err
			}
			cl, r, err := f.dialRecords(cmd.Context(), a)
			if err != nil {
				return err
			}
			defer cl.Close()
			if ttl > 0 {
				rec.Expires = time.Now().Add(ttl)
			}
			revision, err := r.Put(cmd.Context(), rec, cond)
			if err != nil {
				return err
			}
			return a.kvWrote(cmd.Context(), cl, r, f.json, kvDone{Key: kv[0], Done: "put", Revision: revision})
		},
	}
	f.register(c)
	fs := c.Flags()
	fs.DurationVar(&ttl, "ttl", 0, "after which the record is gone, counted by this machine's clock, and ended by the server's; 0: never")
	fs.StringVar(&file, "file", "", "file that has the value")
	fs.BoolVar(&cond.IfAbsent, "if-absent", false, "only if the key has no record")
	fs.BoolVar(&cond.IfPresent, "if-present", false, "only if the key has a record")
	fs.Uint64Var(&cond.IfRevision, "if-revision", 0, "only if the key's record has this revision; 0: any")
	fs.Uint16Var(&flags, "flags", 0, "a number to store with the value")
	return c
}

// kvDone is the output of the commands that change records.
type kvDone struct {
	Key       string `json:"key"`
	Done      string `json:"done"`
	Revision  uint64 `json:"revision,omitempty"`
	Transport string `json:"transport"`
	// Shard is the key's shard, if the collection is divided.
	Shard *catfish.ShardAt `json:"shard,omitempty"`
}

// kvWrote prints what a command has changed.
func (a *App) kvWrote(ctx context.Context, cl *catfish.Client, r *catfish.Records, asJSON bool, d kvDone) (err error) {
	if d.Shard, err = r.Shard(ctx, []byte(d.Key)); err != nil {
		return err
	}
	if d.Transport = cl.Info().Transport; asJSON {
		return a.json(d)
	}
	text := d.Done + " " + plain([]byte(d.Key))
	if d.Revision != 0 {
		text += fmt.Sprint(", revision ", d.Revision)
	}
	if d.Shard != nil {
		text += ", shard " + shardText(d.Shard)
	}
	return a.Printf("%s\n", text)
}

func newKVDelete(a *App) *cobra.Command {
	var f kvFlags
	var cond kv.Condition
	c := &cobra.Command{
		Use:     "delete KEY",
		Short:   "Remove the record of a key",
		Example: `  catfish kv delete cafe-7 --if-revision 12`,
		Args:    Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, key []string) error {
			cl, r, err := f.dialRecords(cmd.Context(), a)
			if err != nil {
				return err
			}
			defer cl.Close()
			if err := r.Delete(cmd.Context(), []byte(key[0]), cond); err != nil {
				return err
			}
			return a.kvWrote(cmd.Context(), cl, r, f.json, kvDone{Key: key[0], Done: "deleted"})
		},
	}
	f.register(c)
	c.Flags().Uint64Var(&cond.IfRevision, "if-revision", 0, "only if the key's record has this revision; 0: any")
	return c
}

func newKVScan(a *App) *cobra.Command {
	var f kvFlags
	var limit int
	c := &cobra.Command{
		Use:   "scan",
		Short: "Print all records, in no order",
		Long: `Print all records, in no order, a line each: key and value, separated by a tab,
quoted where they are not plain text; with --json an object each. A record that is
moved meanwhile may be printed twice.`,
		Example: `  catfish kv scan --limit 10
  catfish kv scan --json > records.jsonl`,
		Args: Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 0 {
				return BadUsage("--limit is %d, want 0 (all) or more", limit)
			}
			cl, r, err := f.dialRecords(cmd.Context(), a)
			if err != nil {
				return err
			}
			defer cl.Close()
			n := 0
			for rec, err := range r.Scan(cmd.Context()) {
				if err == nil && f.json {
					err = a.json(recordJSON(rec))
				} else if err == nil {
					err = a.Printf("%s\t%s\n", plain(rec.Key), plain(rec.Value))
				}
				if err != nil {
					return err
				}
				if n++; n == limit {
					break
				}
			}
			return nil
		},
	}
	f.register(c)
	c.Flags().IntVar(&limit, "limit", 0, "most records to print, 0 for all")
	return c
}
