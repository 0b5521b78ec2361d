//go:build ofi

package ofi

/*
#include "shim.h"
*/
import "C"

import "slices"

// Discover lists libfabric's devices that this package can use, RDMA
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
