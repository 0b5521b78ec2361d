package ofi

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// String is one line for logs and benchmark rows.
func (f Fabric) String() string {
	s := f.Provider + " " + f.Device
	if f.Addr != "" {
		s += " " + f.Addr
	}
	if f.Port > 0 {
		s += fmt.Sprintf(" port %d", f.Port)
	}
	if f.GID != "" {
		s += fmt.Sprintf(" GID[%d] %s", f.GIDIndex, f.GID)
	}
	if f.Link != "" {
		s += " " + f.Link
	}
	if f.Rate != "" {
		s += " " + f.Rate
	}
	switch {
	case !f.RDMA():
		s += " (no RDMA: the target's CPU serves reads)"
	case f.Emulated:
		s += " (emulated by the kernel)"
	}
	return s
}

func (f Fabric) ip() net.IP { return net.ParseIP(f.Addr) }

// addSysfs fills in the kernel's report about an RDMA device: the port
// whose GID table has the device's address, and the port's state.
//
//	root/mlx5_0/ports/1/{state,rate,link_layer}
//	root/mlx5_0/ports/1/gids/3             0000:0000:0000:0000:0000:ffff:0a00:0001
//	root/mlx5_0/ports/1/gid_attrs/types/3  RoCE v2
func (f *Fabric) addSysfs(root string) {
	// Cards are attached to a bus; rxe and siw have no such device.
	_, err := os.Stat(filepath.Join(root, f.Device, "device"))
	f.Emulated = err != nil
	ports, _ := filepath.Glob(filepath.Join(root, f.Device, "ports", "*"))
	for _, port := range ports {
		n, err := strconv.Atoi(filepath.Base(port))
		if err != nil {
			continue
		}
		index, gid := f.findGID(port)
		if f.Port != 0 && index < 0 {
			continue // an earlier port has been found
		}
		f.Port = n
		f.State = afterColon(line(filepath.Join(port, "state")))
		f.Rate = line(filepath.Join(port, "rate"))
		f.Link = line(filepath.Join(port, "link_layer"))
		if index >= 0 {
			f.GIDIndex, f.GID = index, gid
			return
		}
	}
}

// findGID looks for the GID that holds the address. If there are several the
// last one wins: RoCE v1 comes before RoCE v2 in the kernel's tables.
func (f *Fabric) findGID(port string) (index int, gid string) {
	index = -1
	ip := f.ip()
	if ip == nil {
		return index, gid
	}
	for i := range 256 { // the size of the largest tables
		s := line(filepath.Join(port, "gids", strconv.Itoa(i)))
		if s == "" {
			break
		}
		if g := net.ParseIP(s); g != nil && g.Equal(ip) {
			index, gid = i, s
		}
	}
	return index, gid
}

func line(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// afterColon returns ACTIVE for "4: ACTIVE".
func afterColon(s string) string {
	if _, after, ok := strings.Cut(s, ":"); ok {
		return strings.TrimSpace(after)
	}
	return s
}
