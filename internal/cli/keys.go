package cli

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/catfish-index/catfish/internal/access"
)

func newKeys(a *App) *cobra.Command {
	c := &cobra.Command{
		Use:   "keys",
		Short: "Make, list and revoke the keys that a server takes",
		Long: `Make, list and revoke the keys that a server takes. They stand in a file, one a
line, with their hashes: 'catfish serve --keys FILE' serves only who has one, and
reads the file again within a second of a change.

A role is COLLECTION:read, :write or :admin. COLLECTION may end in *, and each
role includes those before it: read searches and gets, write changes objects,
admin creates and drops collections. GROUP:replica is the role of a member of a
group of servers (docs/cluster.md): it gets the whole store, and no collection.`,
		Example: `  catfish keys add --file keys --name web --role cafes:read --rate 500
  catfish keys list --file keys
  catfish keys revoke --file keys web`,
	}
	Group(c)
	c.AddCommand(newKeysAdd(a), newKeysList(a), newKeysRevoke(a))
	return c
}

func keysFile(c *cobra.Command, file *string) {
	c.Flags().StringVarP(file, "file", "f", "", "file of keys (required)")
}

func checkKeysFile(file string) error {
	if file == "" {
		return BadUsage("--file is missing: which file of keys?")
	}
	return nil
}

func newKeysAdd(a *App) *cobra.Command {
	var file string
	var e access.Entry
	var expires string
	var asJSON bool
	c := &cobra.Command{
		Use:   "add",
		Short: "Make a key and print it, once",
		Long: `Make a key, add its hash to the file, and print the key. It is nowhere else:
who loses it makes another one.`,
		Example: `  catfish keys add -f keys --name loader --role 'osm-*:write' --expires 720h
  catfish keys add -f keys --name operator --role '*:admin'`,
		Args: Args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			if err := checkKeysFile(file); err != nil {
				return err
			}
			now := time.Now().UTC()
			e.Created = now.Format(time.RFC3339)
			var err error
			if e.Expires, err = expiry(expires, now); err != nil {
				return err
			}
			made, key, err := access.NewKey(e)
			if err != nil {
				return BadUsage("%w", err)
			}
			if err := access.Add(file, made); err != nil {
				return err
			}
			if asJSON {
				return a.json(struct {
					ID  string `json:"id"`
					Key string `json:"key"`
				}{made.ID, key})
			}
			return a.Printf("%s\n", key)
		},
	}
	keysFile(c, &file)
	fs := c.Flags()
	fs.StringVar(&e.Name, "name", "", "what to call it in lists")
	fs.StringArrayVar(&e.Roles, "role", nil, "COLLECTION:read, :write or :admin, or GROUP:replica; repeat it for more")
	fs.Float64Var(&e.Rate, "rate", 0, "requests a second, 0: any number")
	fs.IntVar(&e.Burst, "burst", 0, "requests that may come at once, 0: a second's, and at least 10")
	fs.StringVar(&expires, "expires", "", "when it ends: a duration from now such as 720h, or a time such as 2027-01-31T00:00:00Z; empty: never")
	fs.BoolVar(&asJSON, "json", false, "print one JSON object")
	return c
}

// expiry parses --expires.
func expiry(text string, now time.Time) (string, error) {
	if text == "" {
		return "", nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		d, derr := time.ParseDuration(text)
		if derr != nil {
			return "", BadUsage("--expires %q, want a duration such as 720h, or a time such as 2027-01-31T00:00:00Z", text)
		}
		at = now.Add(d)
	}
	if !at.After(now) {
		return "", BadUsage("--expires %q has passed", text)
	}
	return at.UTC().Format(time.RFC3339), nil
}

func newKeysList(a *App) *cobra.Command {
	var file string
	var asJSON bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List the keys of a file, without their hashes",
		Example: `  catfish keys list --file keys
  catfish keys list -f keys --json`,
		Args: Args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			if err := checkKeysFile(file); err != nil {
				return err
			}
			all, err := access.ReadFile(file)
			if err != nil {
				return err
			}
			if asJSON {
				type shown struct {
					access.Entry
					Hash string `json:"hash,omitempty"` // replaces the entry's hash
				}
				keys := make([]shown, len(all))
				for i, e := range all {
					keys[i].Entry = e
				}
				return a.json(struct {
					Keys []shown `json:"keys"`
				}{keys})
			}
			return a.Printf("%s", keysText(all, time.Now()))
		},
	}
	keysFile(c, &file)
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return c
}

func keysText(all []access.Entry, now time.Time) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, e := range all {
		rate, ends := "any rate", "no end"
		if e.Rate > 0 {
			rate = fmt.Sprintf("%g/s", e.Rate)
		}
		if e.Expires != "" {
			ends = "until " + e.Expires
			if at, err := time.Parse(time.RFC3339, e.Expires); err == nil && !at.After(now) {
				ends = "EXPIRED " + e.Expires
			}
		}
		name := e.Name
		if name == "" {
			name = "-"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", e.ID, name, strings.Join(e.Roles, ","), rate, ends)
	}
	_ = w.Flush() // A Builder takes everything.
	return b.String()
}

func newKeysRevoke(a *App) *cobra.Command {
	var file string
	c := &cobra.Command{
		Use:   "revoke ID|NAME",
		Short: "Remove a key: servers end its connections within two seconds",
		Example: `  catfish keys revoke --file keys web
  catfish keys revoke -f keys 3f9a1c2b4d5e`,
		Args: Args(cobra.ExactArgs(1)),
		RunE: func(_ *cobra.Command, which []string) error {
			if err := checkKeysFile(file); err != nil {
				return err
			}
			e, err := access.Revoke(file, which[0])
			if err != nil {
				return err
			}
			return a.Printf("revoked %s %s\n", e.ID, e.Name)
		},
	}
	keysFile(c, &file)
	return c
}
