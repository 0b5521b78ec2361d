//go:build ofi

package ofi

/*
#cgo LDFLAGS: -libverbs
#include <stdlib.h>
#include <string.h>
#include <infiniband/verbs.h>

// libfabric does not report how many Reads a card executes at a time; it asks
// for as many as there are (RDMA_MAX_INIT_DEPTH).
static int max_reads(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	int i, n = 0;

	for (i = 0; list && list[i]; i++) {
		struct ibv_context *c;
		struct ibv_device_attr a;

		if (strcmp(ibv_get_device_name(list[i]), name))
			continue;
		c = ibv_open_device(list[i]);
		if (c && !ibv_query_device(c, &a))
			n = a.max_qp_rd_atom < a.max_qp_init_rd_atom ?
				a.max_qp_rd_atom : a.max_qp_init_rd_atom;
		if (c)
			ibv_close_device(c);
	}
	if (list)
		ibv_free_device_list(list);
	return n;
}
*/
import "C"

import "unsafe"

// maxReads is the number of outstanding Reads that the device supports on a
// queue pair, 0 if unknown.
func maxReads(device string) int {
	name := C.CString(device)
	defer C.free(unsafe.Pointer(name))
	return int(C.max_reads(name))
}
