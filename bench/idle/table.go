package idle

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// WriteTable writes rows as text.
func WriteTable(w io.Writer, rows []Row) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "transport\tclients\tprocess\tKiB/conn.\tdescriptors/conn.\tmappings/conn.\tCPU at rest\tCPU with heartbeats")
	for _, r := range rows {
		for _, p := range []struct {
			name string
			c    Cost
		}{{"server", r.Server}, {fmt.Sprintf("%d of clients", r.Procs), r.Client}} {
			fmt.Fprintf(t, "%s\t%d\t%s\t%.1f\t%.2f\t%.2f\t%.1f %%\t%.1f %%\n", r.Transport, r.Clients, p.name,
				p.c.Memory/1024, p.c.Files, p.c.Mappings, 100*p.c.Rest, 100*p.c.Beats)
		}
	}
	return t.Flush()
}
