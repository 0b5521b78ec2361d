//go:build ofi

package ofi

/*
#include <stdlib.h>
#include <sys/socket.h>
#include "shim.h"
*/
import "C"

import (
	"encoding/binary"
	"net"
	"slices"
	"unsafe"
)

// Discover lists what libfabric offers that this package can use, RDMA
// first.
func Discover() ([]Fabric, error) {
	var ret C.int
	list := C.cf_getinfo_all(&ret)
	if list == nil {
		if ret == -C.FI_ENODATA {
			return nil, nil
		}
		return nil, failure("fi_getinfo", ret)
	}
	defer C.fi_freeinfo(list)
	var all []Fabric
	for i := list; i != nil; i = i.next {
		f := describe(i)
		if (f.Provider == Verbs || f.Provider == TCP) && !slices.Contains(all, f) {
			all = append(all, f)
		}
	}
	slices.SortStableFunc(all, func(a, b Fabric) int {
		switch {
		case a.RDMA() == b.RDMA():
			return 0
		case a.RDMA():
			return -1
		}
		return 1
	})
	return all, nil
}

func describe(i *C.struct_fi_info) Fabric {
	f := Fabric{
		Provider: C.GoString(i.fabric_attr.prov_name),
		Device:   C.GoString(i.domain_attr.name),
		Name:     C.GoString(i.fabric_attr.name),
		Inline:   int(i.tx_attr.inject_size),
	}
	if i.src_addr != nil {
		f.Addr = ipOf(C.GoBytes(i.src_addr, C.int(i.src_addrlen)))
	}
	f.Emulated = true
	if f.Provider == Verbs {
		f.addSysfs("/sys/class/infiniband")
		f.MaxReads = maxReads(f.Device)
	}
	return f
}

// ipOf reads the address of a sockaddr_in or sockaddr_in6.
func ipOf(sa []byte) string {
	if len(sa) < 8 {
		return ""
	}
	switch binary.NativeEndian.Uint16(sa) {
	case C.AF_INET:
		return net.IP(sa[4:8]).String()
	case C.AF_INET6:
		if len(sa) >= 24 {
			return net.IP(sa[8:24]).String()
		}
	}
	return ""
}

var _ = unsafe.Pointer(nil)
