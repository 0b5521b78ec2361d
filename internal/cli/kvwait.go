package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"
)

func newKVWait(a *App) *cobra.Command {
	var f kvFlags
	var timeout time.Duration
	c := &cobra.Command{
		Use:   "wait KEY VALUE",
		Short: "Wait until a key has a value",
		Long: `Wait until a key has a record with a value, which the write of it ends at once. It is
an error if that does not come within --timeout.`,
		Example: `  catfish kv wait job-7 done --timeout 5m && echo done`,
		Args:    Args(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, kv []string) error {
			if timeout < 0 {
				return BadUsage("--timeout is %v, want 0 (for good) or more", timeout)
			}
			cl, r, err := f.dialRecords(cmd.Context(), a)
			if err != nil {
				return err
			}
			defer cl.Close()
			ctx := cmd.Context()
			if timeout > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, timeout)
				defer cancel()
			}
			rec, err := r.WaitFor(ctx, []byte(kv[0]), []byte(kv[1]))
			if err != nil {
				return err
			}
			return a.kvWrote(cmd.Context(), cl, r, f.json, kvDone{Key: kv[0], Done: "found", Revision: rec.Revision})
		},
	}
	f.register(c)
	c.Flags().DurationVar(&timeout, "timeout", 0, "how long to wait; 0: for good")
	return c
}
