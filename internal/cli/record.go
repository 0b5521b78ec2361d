package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/catfish-index/catfish/catfish"
)

// recordFlags are the flags of 'serve' that record its requests.
func recordFlags(c *cobra.Command, o *catfish.RecordOptions) {
	fs := c.Flags()
	fs.StringVar(&o.File, "record", "",
		"record the searches of boxes that reach the server in this file, for 'replay'; offloaded ones do not reach it")
	fs.BoolVar(&o.Writes, "record-writes", false, "record inserts, deletes and updates, too")
	fs.BoolVar(&o.Force, "record-force", false, "overwrite the file of --record if it exists")
}

// checkRecord refuses flags that would do nothing.
func checkRecord(o catfish.RecordOptions) error {
	if o.File == "" && (o.Writes || o.Force) {
		return BadUsage("--record-writes and --record-force go with --record FILE")
	}
	return nil
}

func recordText(r catfish.RecordStats) string {
	what := "searches"
	if r.Writes {
		what = "searches and writes"
	}
	text := fmt.Sprintf("%s: %d %s, %d bytes", r.File, r.Records, what, r.Bytes)
	if r.Dropped > 0 {
		text += fmt.Sprintf("; %d MISSING, the writer did not keep up or had ended", r.Dropped)
	}
	if r.Error != "" {
		text += "; ENDED: " + r.Error
	}
	return text
}
