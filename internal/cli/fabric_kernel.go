package cli

import (
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/catfish-index/catfish/internal/rdma/ofi"
)

// kernelDevice is an RDMA device that the system knows, whether libfabric
// offers it or not: users need the difference explained.
type kernelDevice struct {
	Name   string `json:"name"`
	Driver string `json:"driver"`
	Usable bool   `json:"usable"`
	Note   string `json:"note"`
}

// emulated replaces the driver's name where there is no card: rxe and siw.
const emulated = "emulated by the kernel"

// kernelDevices reads sysfs:
//
//	root/infiniband/mlx5_0/device/driver -> .../mlx5_core
//	root/infiniband/rxe0                    no device
//	root/cxi/cxi0                           HPE Slingshot
func kernelDevices(root string) []kernelDevice {
	var all []kernelDevice
	for _, class := range []string{"infiniband", "cxi"} {
		entries, err := os.ReadDir(filepath.Join(root, class))
		if err != nil {
			continue // no such devices, or not Linux
		}
		for _, e := range entries {
			d := kernelDevice{Name: e.Name(), Driver: emulated}
			at := filepath.Join(root, class, e.Name(), "device")
			if link, err := os.Readlink(filepath.Join(at, "driver")); err == nil {
				d.Driver = filepath.Base(link)
			} else if _, err := os.Stat(at); err == nil {
				d.Driver = "unknown driver"
			}
			if class == "cxi" {
				d.Driver = class
			}
			all = append(all, d)
		}
	}
	return all
}

// datagrams are the drivers of cards that have no connected endpoints.
var datagrams = map[string]string{"efa": "AWS EFA", "cxi": "HPE Slingshot"}

// connects reports whether connections can be made over an RDMA device:
// libfabric also offers devices without an address.
func connects(f ofi.Fabric) bool { return f.RDMA() && f.Addr != "" }

// explain says whether the device can be used, and why not. err is
// Discover's.
func (d *kernelDevice) explain(fabrics []ofi.Fabric, err error) {
	mine := func(f ofi.Fabric) bool { return f.RDMA() && f.Device == d.Name }
	at := slices.IndexFunc(fabrics, func(f ofi.Fabric) bool { return mine(f) && connects(f) })
	switch {
	case datagrams[d.Driver] != "":
		d.Note = datagrams[d.Driver] + " is not supported yet: it offers reliable datagrams (FI_EP_RDM)" +
			" only, needed are connected endpoints (FI_EP_MSG)"
	case errors.Is(err, ofi.ErrNotBuilt):
		d.Note = "not usable by this build, which has no libfabric"
	case err != nil:
		d.Note = "not usable: " + err.Error()
	case at < 0 && slices.ContainsFunc(fabrics, mine):
		d.Note = "not usable: its network device has no IP address (on InfiniBand: IPoIB), which connections need"
	case at < 0:
		d.Note = "libfabric does not offer it: the system needs the module rdma_ucm, this user /dev/infiniband"
	case fabrics[at].State != "" && fabrics[at].State != "ACTIVE":
		d.Usable = true
		d.Note = "offered by libfabric, but its port is " + fabrics[at].State
	default:
		d.Usable = true
		d.Note = "offered by libfabric"
	}
}
