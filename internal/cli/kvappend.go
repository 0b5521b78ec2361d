package cli

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/kv"
)

func newKVAppend(a *App) *cobra.Command {
	var f kvFlags
	var cond kv.Condition
	c := &cobra.Command{
		Use:   "append KEY VALUE",
		Short: "Put a value behind the one of a key",
		Long: `Put a value behind the one that a key has, whose time to live and flags stay; a key
without a record gets the value. The server does it in one step, so no append is lost among
those of other clients. A VALUE of - is standard input; it has to fit into a message (64 KB with
the default ring, 10 KB over plain sockets), and the whole value may have 1 MiB.`,
		Example: `  catfish kv append visits-7 'ada '
  catfish kv append visits-7 'ada ' --if-present`,
		Args: Args(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, kv []string) error {
			rec := catfish.Record{Key: []byte(kv[0]), Value: []byte(kv[1])}
			if kv[1] == "-" {
				var err error
				if rec.Value, err = io.ReadAll(a.In); err != nil {
					return err
				}
			}
			cl, r, err := f.dialRecords(cmd.Context(), a)
			if err != nil {
				return err
			}
			defer cl.Close()
			revision, err := r.Append(cmd.Context(), rec, cond)
			if err != nil {
				return err
			}
			return a.kvWrote(cmd.Context(), cl, r, f.json, kvDone{Key: kv[0], Done: "appended", Revision: revision})
		},
	}
	f.register(c)
	c.Flags().BoolVar(&cond.IfPresent, "if-present", false, "only if the key has a record")
	c.Flags().Uint64Var(&cond.IfRevision, "if-revision", 0, "only if the key's record has this revision; 0: any")
	return c
}
