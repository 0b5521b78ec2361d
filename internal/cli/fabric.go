package cli

import (
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/rdma/ofi"
	"github.com/catfish-index/catfish/internal/rdmaprobe"
)

// fabricOptions are the options of 'catfish fabric'.
type fabricOptions struct {
	json, test bool
	transports []string // empty: all that this host supports
	fabric     catfish.Fabric
	sizes      []int
	duration   time.Duration
}

func newFabric(a *App) *cobra.Command {
	var f fabricOptions
	c := &cobra.Command{
		Use:   "fabric",
		Short: "Show what RDMA this host has, and try it out",
		Long: `Show which transports this host has, the RDMA devices, the limit on locked
memory, and which transport a client would choose.

With --test, two devices of each transport are opened in this process and
connected, the bytes that arrive are checked, and for reads, writes and
writes with immediate these are measured:

  latency  one request outstanding: until its completion, or, with an
           immediate, until the other side has the event (one way)
  rate     16 outstanding, posted in batches

A card is tested over itself (loop-back): nothing leaves the host, so cables
and switches are not tested. Transport ofi needs an RDMA device; libfabric's
tcp, which is no RDMA, is tested only when it is named. Cards, limits, first
errors: docs/rdma.md.`,
		Example: `  catfish fabric
  catfish fabric --json
  catfish fabric --test
  catfish fabric --test --transport shm,soft --size 64,2048,65536
  catfish fabric --test --transport ofi --fabric-device mlx5_0 --duration 2s
  catfish fabric --test --fabric-provider tcp --fabric-addr 127.0.0.1 --json`,
		Args: Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			if f.test {
				return a.fabricTest(cmd.Context(), f)
			}
			return a.fabric(f.json)
		},
	}
	fs := c.Flags()
	fs.BoolVar(&f.json, "json", false, "print one JSON object; with --test one for each row")
	fs.BoolVar(&f.test, "test", false, "run the self-test")
	fs.StringSliceVar(&f.transports, "transport", nil,
		"transports to test: shm, soft, ofi; empty: all that this host has")
	FabricFlags(c, &f.fabric)
	fs.IntSliceVar(&f.sizes, "size", []int{64, 2048}, "bytes of a request, or several sizes")
	fs.DurationVar(&f.duration, "duration", 200*time.Millisecond,
		"of each measurement; there are six for each transport and size")
	CompleteList(c, "transport", catfish.TransportSHM, catfish.TransportSoft, catfish.TransportOFI)
	return c
}

// check finds impossible options before anything is opened.
func (f *fabricOptions) check(c *cobra.Command) error {
	ofFabric := false
	for _, name := range []string{"transport", "fabric-provider", "fabric-device", "fabric-addr", "size", "duration"} {
		if !c.Flags().Changed(name) {
			continue
		}
		if !f.test {
			return BadUsage("--%s is for the self-test: add --test", name)
		}
		ofFabric = ofFabric || name[0] == 'f'
	}
	for _, t := range f.transports {
		if !slices.Contains([]string{catfish.TransportSHM, catfish.TransportSoft, catfish.TransportOFI}, t) {
			return BadUsage("--transport %q, want some of shm, soft, ofi", t)
		}
	}
	switch f.fabric.Provider {
	case "", ofi.Verbs, ofi.TCP:
	default:
		return BadUsage("--fabric-provider %q, want verbs or tcp: others have no connected endpoints", f.fabric.Provider)
	}
	if ofFabric {
		if len(f.transports) == 0 {
			f.transports = []string{catfish.TransportOFI}
		}
		if !slices.Contains(f.transports, catfish.TransportOFI) {
			return BadUsage("--fabric-provider, --fabric-device and --fabric-addr are for --transport ofi")
		}
	}
	if len(f.sizes) == 0 {
		return BadUsage("--size is empty")
	}
	for _, n := range f.sizes {
		if n < 1 || n > rdmaprobe.MaxSize {
			return BadUsage("--size %d, want 1 to %d bytes", n, rdmaprobe.MaxSize)
		}
	}
	if f.duration <= 0 {
		return BadUsage("--duration is %v, want more than 0", f.duration)
	}
	return nil
}
