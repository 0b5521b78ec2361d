package catfish

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/catfish-index/catfish/rdma/ofi"
)

// choice is a transport, ofi's device here, and why they were chosen.
type choice struct {
	transport, reason string
	fabric            Fabric
}

// chooseTransports compares what both sides have (RDMA context detection)
// and lists the transports to try, best first: shm on the same host; ofi where both
// have RDMA devices on one network; soft. A pinned transport stands alone. A listed
// transport may still fail: devices may not reach each other, or the server has no room
// for another client on it.
func chooseTransports(want string, h hello, f Fabric) ([]choice, error) {
	has := func(t string) bool { return slices.Contains(h.Transports, t) }
	noSHM := whyNotSHM(h, has(TransportSHM))
	switch want {
	case TransportAuto:
	case TransportSHM:
		if noSHM != nil {
			return nil, fmt.Errorf("%w: shm: %w", ErrTransport, noSHM)
		}
		return []choice{{transport: want, reason: "pinned"}}, nil
	default:
		if !has(want) {
			return nil, fmt.Errorf("%w: %s: the server offers only %s",
				ErrTransport, want, strings.Join(h.Transports, ", "))
		}
		pinned := choice{transport: want, reason: "pinned", fabric: f}
		if h.Fabric != nil && f.Provider == "" {
			pinned.fabric.Provider = h.Fabric.Provider
		}
		return []choice{pinned}, nil
	}
	var all []choice
	device, noOFI := whyNotOFI(h, has(TransportOFI), f)
	why := "same host"
	if noSHM == nil {
		all = append(all, choice{transport: TransportSHM, reason: why})
	} else {
		why = "not shm: " + noSHM.Error()
	}
	if noOFI == nil {
		all = append(all, choice{TransportOFI, why, device})
	} else {
		why += "; not ofi: " + noOFI.Error()
	}
	if has(TransportSoft) {
		all = append(all, choice{transport: TransportSoft, reason: why})
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%w: server offers %s; %s; name tcp to use plain sockets",
			ErrTransport, strings.Join(h.Transports, ", "), why)
	}
	return all, nil
}

func whyNotSHM(h hello, offered bool) error {
	switch mine := hostID(); {
	case !offered:
		return errors.New("the server does not offer it")
	case mine == "" || mine != h.Host:
		return errors.New("the server runs on another host")
	}
	if _, err := os.Stat(h.Socket); err != nil {
		return fmt.Errorf("its socket cannot be reached from here: %w", err)
	}
	return nil
}

// whyNotOFI returns this host's device that may reach the server's.
func whyNotOFI(h hello, offered bool, f Fabric) (Fabric, error) {
	if !offered || h.Fabric == nil {
		return Fabric{}, errors.New("the server does not offer it")
	}
	if !ofi.Built {
		return Fabric{}, errors.New("this build has no libfabric (go build -tags ofi)")
	}
	mine := rdmaDevices(f)
	if len(mine) == 0 {
		return Fabric{}, errors.New("no RDMA device here")
	}
	for _, m := range mine {
		if m.Provider == h.Fabric.Provider && m.Name == h.Fabric.Name {
			return Fabric{Provider: m.Provider, Device: m.Device, Addr: m.Addr}, nil
		}
	}
	return Fabric{}, fmt.Errorf("the server's device is on %s %s, those here are on %s %s",
		h.Fabric.Provider, h.Fabric.Name, mine[0].Provider, mine[0].Name)
}

// rdmaDevices lists this host's RDMA devices that fit f. A device that must be
// named, such as libfabric's tcp, counts if f names it.
func rdmaDevices(f Fabric) []ofi.Fabric {
	all, err := ofi.Discover()
	if err != nil {
		return nil // not built, or libfabric has nothing
	}
	return slices.DeleteFunc(all, func(d ofi.Fabric) bool {
		return f.Provider == "" && !d.RDMA() || f.Provider != "" && d.Provider != f.Provider ||
			f.Device != "" && d.Device != f.Device || f.Addr != "" && d.Addr != f.Addr ||
			d.Addr == "" // rdma_cm connects by address
	})
}

// hostID identifies the running kernel, where the system names it.
func hostID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
