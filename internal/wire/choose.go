package wire

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/rdma/ofi"
)

// Choice is a transport, ofi's device here, and why they were chosen.
type Choice struct {
	Transport, Reason string
	Fabric            model.Fabric
}

// ChooseTransports compares what both sides have (RDMA context detection)
// and lists the transports to try, best first: shm on the same host; ofi where both
// have RDMA devices on one network; soft. A pinned transport stands alone. A listed
// transport may still fail: devices may not reach each other, or the server has no room
// for another client on it.
func ChooseTransports(want string, h Hello, f model.Fabric) ([]Choice, error) {
	has := func(t string) bool { return slices.Contains(h.Transports, t) }
	noSHM := whyNotSHM(h, has(model.TransportSHM))
	switch want {
	case model.TransportAuto:
	case model.TransportSHM:
		if noSHM != nil {
			return nil, fmt.Errorf("%w: shm: %w", model.ErrTransport, noSHM)
		}
		return []Choice{{Transport: want, Reason: "pinned"}}, nil
	default:
		if !has(want) {
			return nil, fmt.Errorf("%w: %s: the server offers only %s",
				model.ErrTransport, want, strings.Join(h.Transports, ", "))
		}
		pinned := Choice{Transport: want, Reason: "pinned", Fabric: f}
		if h.Fabric != nil && f.Provider == "" {
			pinned.Fabric.Provider = h.Fabric.Provider
		}
		return []Choice{pinned}, nil
	}
	var all []Choice
	device, noOFI := whyNotOFI(h, has(model.TransportOFI), f)
	why := "same host"
	if noSHM == nil {
		all = append(all, Choice{Transport: model.TransportSHM, Reason: why})
	} else {
		why = "not shm: " + noSHM.Error()
	}
	if noOFI == nil {
		all = append(all, Choice{model.TransportOFI, why, device})
	} else {
		why += "; not ofi: " + noOFI.Error()
	}
	if has(model.TransportSoft) {
		all = append(all, Choice{Transport: model.TransportSoft, Reason: why})
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%w: server offers %s; %s; name tcp to use plain sockets",
			model.ErrTransport, strings.Join(h.Transports, ", "), why)
	}
	return all, nil
}

func whyNotSHM(h Hello, offered bool) error {
	switch mine := HostID(); {
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
func whyNotOFI(h Hello, offered bool, f model.Fabric) (model.Fabric, error) {
	if !offered || h.Fabric == nil {
		return model.Fabric{}, errors.New("the server does not offer it")
	}
	if !ofi.Built {
		return model.Fabric{}, errors.New("this build has no libfabric (go build -tags ofi)")
	}
	mine := RdmaDevices(f)
	if len(mine) == 0 {
		return model.Fabric{}, errors.New("no RDMA device here")
	}
	for _, m := range mine {
		if m.Provider == h.Fabric.Provider && m.Name == h.Fabric.Name {
			return model.Fabric{Provider: m.Provider, Device: m.Device, Addr: m.Addr}, nil
		}
	}
	return model.Fabric{}, fmt.Errorf("the server's device is on %s %s, those here are on %s %s",
		h.Fabric.Provider, h.Fabric.Name, mine[0].Provider, mine[0].Name)
}

// TrustedServer admits root and the client's own user, which both have full power
// over the client anyway, and the user that the server runs as. Then it does not
// matter which users may write to the socket's directory.
func TrustedServer(uid, self uint32, server *uint32) error {
	switch {
	case uid == 0 || uid == self || server != nil && *server == uid:
		return nil
	case server == nil:
		return fmt.Errorf("%w: shm: the socket is of uid %d, and the server, an older one, does not say"+
			" which user it runs as", model.ErrTransport, uid)
	}
	return fmt.Errorf("%w: shm: the socket is of uid %d, the server runs as uid %d", model.ErrTransport, uid, *server)
}
