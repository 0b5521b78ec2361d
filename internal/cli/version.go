package cli

import (
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/rstar"
)

func newVersion(a *App) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "version",
		Short: "Say which build this is",
		Long: `Say which build this is: release, commit, Go and platform; the protocol,
which must be the same at server and clients; the layout of a tree's memory;
and whether transport ofi is built in.`,
		Example: `  catfish version --json`,
		Args:    Args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return a.json(struct {
					Version  string `json:"version"`
					Commit   string `json:"commit"`
					Go       string `json:"go"`
					Platform string `json:"platform"`
					Protocol int    `json:"protocol"`
					Layout   uint32 `json:"layout"`
					OFI      bool   `json:"ofi"`
				}{release(), Commit(), runtime.Version(), platform(),
					catfish.ProtocolVersion, rstar.LayoutVersion, catfish.HasOFI})
			}
			rdma := "without ofi (RDMA): that is another build, make build-ofi"
			if catfish.HasOFI {
				rdma = "with ofi (RDMA by libfabric)"
			}
			return a.Printf("catfish %s, commit %s, %s, %s\nprotocol %d, tree layout %d, %s\n",
				release(), Commit(), runtime.Version(), platform(),
				catfish.ProtocolVersion, rstar.LayoutVersion, rdma)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return c
}

func platform() string { return runtime.GOOS + "/" + runtime.GOARCH }

// release is the stamped version, else the library's own.
func release() string {
	if version != "" {
		return version
	}
	return model.Version
}

// Commit is the revision that the Go tool wrote into the program, with
// "-dirty" for uncommitted changes; else the release.
func Commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return release()
	}
	var revision, dirty string
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "-dirty"
		}
	}
	if revision == "" {
		return release()
	}
	return strings.TrimSpace(revision + dirty)
}
