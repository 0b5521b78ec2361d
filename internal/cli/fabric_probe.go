package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"text/tabwriter"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/rdma/ofi"
	"github.com/catfish-index/catfish/internal/rdma/shm"
	"github.com/catfish-index/catfish/internal/rdma/soft"
	"github.com/catfish-index/catfish/internal/rdmaprobe"
)

// fabricRow is a row of the self-test with a note on its meaning.
type fabricRow struct {
	rdmaprobe.Row
	RDMA bool   `json:"rdma"` // by a card, or the kernel's emulation of one
	Note string `json:"note"`
}

// What each transport's figures measure.
const (
	noteSHM   = "both sides in this process; requests are loads and stores"
	noteSoft  = "both sides in this process, TCP over 127.0.0.1"
	noteVerbs = "the device over itself (loop-back): cables and switches are not tested"
	noteTCP   = "libfabric's tcp is no RDMA: the target's CPU serves reads; not a figure of any card"
)

// fabricTest runs the self-test of all transports, and prints the finished
// ones even if the next one fails.
func (a *App) fabricTest(ctx context.Context, f fabricOptions) error {
	if len(f.transports) == 0 {
		f.transports = f.available()
	}
	for i, name := range f.transports {
		rows, err := a.probe(ctx, name, f)
		if !f.json && len(rows) > 0 {
			if i > 0 {
				fmt.Fprintln(a.Out)
			}
			if err := a.probeTable(rows, i == 0); err != nil {
				return err
			}
		}
		if err != nil {
			return fmt.Errorf("self-test of %s: %w%s", name, err, fabricHint(err, f.fabric))
		}
	}
	return nil
}

// available returns every transport that works without being named.
func (f *fabricOptions) available() []string {
	all := []string{catfish.TransportSoft}
	if runtime.GOOS == "linux" {
		all = []string{catfish.TransportSHM, catfish.TransportSoft}
	}
	fabrics, err := ofi.Discover()
	if err == nil && slices.ContainsFunc(fabrics, connects) {
		all = append(all, catfish.TransportOFI)
	}
	return all
}

// probe tests one transport.
func (a *App) probe(ctx context.Context, name string, f fabricOptions) (rows []fabricRow, err error) {
	cfg := rdmaprobe.Config{Addr: "127.0.0.1:0", Sizes: f.sizes, Duration: f.duration}
	var row fabricRow
	switch name {
	case catfish.TransportSHM:
		dir, err := os.MkdirTemp("", "catfish-fabric-")
		if err != nil {
			return nil, err
		}
		defer func() { _ = os.RemoveAll(dir) }()
		cfg.Addr = filepath.Join(dir, "socket")
		cfg.Open = func() (rdma.Device, error) { return shm.Open(shm.Options{}) }
		row.Note = noteSHM
	case catfish.TransportSoft:
		cfg.Open = func() (rdma.Device, error) { return soft.Open(soft.Options{Log: a.logger()}) }
		row.Note = noteSoft
	case catfish.TransportOFI:
		o := ofi.Options{Provider: f.fabric.Provider, Device: f.fabric.Device, Addr: f.fabric.Addr, Log: a.logger()}
		cfg.Open = func() (rdma.Device, error) { return ofi.Open(o) }
		row.RDMA, row.Note = o.Provider != ofi.TCP, noteVerbs
		if !row.RDMA {
			row.Note = noteTCP
		}
	}
	err = rdmaprobe.Run(ctx, cfg, func(r rdmaprobe.Row) error {
		row.Row = r
		rows = append(rows, row)
		if f.json {
			return a.json(row)
		}
		return nil
	})
	return rows, err
}

func (a *App) probeTable(rows []fabricRow, first bool) error {
	if first {
		fmt.Fprintf(a.Out, "p50, p99: microseconds, 1 outstanding; rates: %d outstanding; write-with-imm: one way\n\n",
			rdmaprobe.Outstanding)
	}
	fmt.Fprintf(a.Out, "%s: %s\n%s\n", rows[0].Transport, rows[0].Detail, rows[0].Note)
	w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "operation\tbytes\tp50\tp99\tper second\tMiB/s\tchecked\t")
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%d\t%.2f\t%.2f\t%.0f\t%.1f\t%d ok\t\n",
			r.Op, r.Bytes, r.P50Us, r.P99Us, r.PerSecond, r.MiBPerS, r.Checked)
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("writing the answer: %w", err)
	}
	return nil
}

// fabricHint says what the user can do about an error of the self-test.
func fabricHint(err error, f catfish.Fabric) string {
	switch {
	case errors.Is(err, ofi.ErrNoDevice) && f.Provider != ofi.TCP:
		return "\nSee 'catfish fabric' for what there is; without a card, docs/rdma.md tells how to make a" +
			" Soft-RoCE device, and --fabric-provider tcp tests libfabric without RDMA."
	case errors.Is(err, ofi.ErrNoDevice):
		return "\nSee 'catfish fabric' for the devices and addresses there are."
	case errors.Is(err, ofi.ErrFabric), errors.Is(err, rdma.ErrCompletion):
		return "\nSee \"The first errors you meet\" in docs/rdma.md."
	}
	return ""
}
