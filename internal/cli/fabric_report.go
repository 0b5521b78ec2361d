package cli

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"text/tabwriter"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/rdma/ofi"
)

// fabricReport is the result of 'catfish fabric' on this host.
type fabricReport struct {
	Transports []fabricTransport `json:"transports"`
	Fabrics    []ofi.Fabric      `json:"fabrics"`        // the devices that libfabric offers
	Kernel     []kernelDevice    `json:"kernel_devices"` // the devices that the system knows
	Locked     lockedMemory      `json:"locked_memory"`
	SameHost   string            `json:"same_host"`   // chosen on the same host
	OtherHosts string            `json:"other_hosts"` // chosen between hosts
	Why        string            `json:"why"`
}

type fabricTransport struct {
	Name      string `json:"name"`
	Available bool   `json:"available"`
	Note      string `json:"note"`
}

// lockedMemory is RLIMIT_MEMLOCK, which bounds what cards may register.
type lockedMemory struct {
	Known     bool   `json:"known"`
	Unlimited bool   `json:"unlimited"`
	Bytes     uint64 `json:"bytes,omitempty"`
	Hint      string `json:"hint,omitempty"`
}

func (a *App) fabric(asJSON bool) error {
	fabrics, err := ofi.Discover()
	r := newFabricReport(fabrics, err, kernelDevices("/sys/class"), memlock())
	if asJSON {
		return a.json(r)
	}
	return a.Printf("%s", r.text())
}

// newFabricReport draws the conclusions. err is Discover's.
func newFabricReport(fabrics []ofi.Fabric, err error, kernel []kernelDevice, lock lockedMemory) fabricReport {
	if fabrics == nil {
		fabrics = []ofi.Fabric{} // an empty list in JSON, not null
	}
	if kernel == nil {
		kernel = []kernelDevice{}
	}
	r := fabricReport{
		Fabrics: fabrics, Kernel: kernel, Locked: lock,
		SameHost: catfish.TransportSHM, OtherHosts: catfish.TransportSoft,
	}
	linux := runtime.GOOS == "linux"
	shm := fabricTransport{catfish.TransportSHM, linux, "shared memory, same host"}
	if !linux {
		shm.Note = "needs Linux"
		r.SameHost = catfish.TransportSoft
	}
	rdma := fabricTransport{catfish.TransportOFI, false, "no RDMA device with an IP address (libfabric's provider verbs)"}
	for i := range r.Fabrics {
		if f := &r.Fabrics[i]; connects(*f) {
			rdma.Available, r.OtherHosts = true, catfish.TransportOFI
			rdma.Note = "RDMA by libfabric, first " + f.Device
			r.Why = "RDMA device " + f.Device + "; the server needs one on the same network, else soft"
			if f.Emulated {
				r.Why = f.Device + " counts as an RDMA device, though the kernel emulates it;" +
					" the server needs one on the same network, else soft"
			}
			break
		}
	}
	switch {
	case errors.Is(err, ofi.ErrNotBuilt):
		rdma.Note = err.Error()
		r.Why = "this build has no libfabric"
	case err != nil:
		rdma.Note = err.Error()
		r.Why = "libfabric could not be asked"
	case !rdma.Available:
		r.Why = "no RDMA device that can be used"
	}
	r.Transports = []fabricTransport{shm,
		{catfish.TransportSoft, true, "software RNIC over TCP, any network"}, rdma}
	for i := range r.Kernel {
		r.Kernel[i].explain(r.Fabrics, err)
	}
	if lock.Known && !lock.Unlimited && lock.Bytes < catfish.FirstPinnedBytes && (rdma.Available || len(kernel) > 0) {
		r.Locked.Hint = fmt.Sprintf("below what a collection has at first (%s): a server over RDMA cannot register it, unless it has"+
			" CAP_IPC_LOCK as root has; ulimit -l unlimited, systemd: LimitMEMLOCK=infinity, or a smaller --slab-bytes",
			mib(catfish.FirstPinnedBytes))
	}
	return r
}

func mib(n uint64) string {
	if n < 1<<20 {
		return fmt.Sprintf("%.3g KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.4g MiB", float64(n)/(1<<20))
}

// text formats the content of the JSON for people.
func (r fabricReport) text() string {
	var b strings.Builder
	b.WriteString("transports\n")
	for _, t := range r.Transports {
		has := "no "
		if t.Available {
			has = "yes"
		}
		fmt.Fprintf(&b, "  %-5s %s  %s\n", t.Name, has, t.Note)
	}
	if len(r.Kernel) > 0 {
		b.WriteString("\nRDMA devices of this system\n")
		for _, d := range r.Kernel {
			fmt.Fprintf(&b, "  %s (%s): %s\n", d.Name, d.Driver, d.Note)
		}
	}
	if len(r.Fabrics) > 0 {
		b.WriteString("\nwhat libfabric offers\n")
		w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "  provider\tdevice\tfabric\taddress\tport\tGID\tlink\tstate\trate\treads\tinline\t")
		for _, f := range r.Fabrics {
			fmt.Fprintln(w, "  "+strings.Join(fabricColumns(f), "\t"))
		}
		_ = w.Flush() // a Builder takes everything
	}
	b.WriteString("\nlocked memory  ")
	switch {
	case !r.Locked.Known:
		b.WriteString("limit unknown\n")
	case r.Locked.Unlimited:
		b.WriteString("unlimited\n")
	default:
		b.WriteString(mib(r.Locked.Bytes) + " (ulimit -l)\n")
	}
	if r.Locked.Hint != "" {
		b.WriteString("  " + r.Locked.Hint + "\n")
	}
	fmt.Fprintf(&b, "would choose   same host: %s; other hosts: %s (%s)\n", r.SameHost, r.OtherHosts, r.Why)
	return b.String()
}

func fabricColumns(f ofi.Fabric) []string {
	number := func(n int) string {
		if n == 0 {
			return "-"
		}
		return fmt.Sprint(n)
	}
	text := func(s string) string {
		if s == "" {
			return "-"
		}
		return s
	}
	gid, what := "-", ""
	if f.GID != "" {
		gid = fmt.Sprintf("[%d] %s", f.GIDIndex, f.GID)
	}
	switch {
	case !f.RDMA():
		what = "no RDMA, for tests"
	case f.Emulated:
		what = "emulated by the kernel"
	}
	return []string{f.Provider, text(f.Device), text(f.Name), text(f.Addr), number(f.Port), gid,
		text(f.Link), text(f.State), text(f.Rate), number(f.MaxReads), number(f.Inline), what}
}
