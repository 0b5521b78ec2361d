//go:build ofi

// A flat view of the part of libfabric that the provider needs: handles,
// numbers and byte arrays, no callbacks, and nothing that keeps a pointer
// into Go memory after a call returns. Calls return 0, a count, or a
// negative fi_errno.
#ifndef CATFISH_OFI_SHIM_H
#define CATFISH_OFI_SHIM_H

#include <stddef.h>
#include <stdint.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

// What a libfabric provider promises decides how the shim posts.
enum {
	CF_DATA_RECV = 1, // a write with data consumes a posted receive (verbs)
	CF_IN_ORDER  = 2, // sends complete in posting order
	CF_ACKED     = 4, // completions must be asked to mean "arrived"
};

// CF_ORDER is the order that package rdma promises, and that post_event needs.
// It must be asked for: where no order is, newer versions of verbs may register
// memory for PCIe's relaxed ordering, and then a word that the target looks at
// may be seen before the writes that came before it.
#define CF_ORDER (FI_ORDER_RAW | FI_ORDER_WAW | FI_ORDER_SAW | FI_ORDER_SAS)

enum { CF_READ = 1, CF_WRITE, CF_WRITE_IMM };

// cf_req is one work request. Local bytes lie outside the Go heap.
struct cf_req {
	uint64_t ctx;
	uint64_t local;  // address
	uint64_t len;
	uint64_t desc;   // of the local memory region
	uint64_t remote; // address as the target counts
	uint64_t key;
	uint32_t imm;
	uint8_t  op;
	uint8_t  more;   // another one follows at once
	uint16_t pad;
};

// cf_comp is one completion, or an error with err > 0.
struct cf_comp {
	uint64_t ctx;
	uint64_t flags;
	uint64_t len;
	uint64_t data;
	int32_t  err;
	int32_t  prov_errno;
};

// cf_event is one connection event, or an error with err > 0.
struct cf_event {
	uint32_t event;
	int32_t  err;
	int32_t  prov_errno;
	uint32_t pad;
	uint64_t ctx;         // of the endpoint
	struct fi_info *info; // FI_CONNREQ: to be freed
	uint64_t token;       // FI_CONNREQ
};

struct fi_info *cf_getinfo(const char *prov, const char *domain, const char *node, int *err);
struct fi_info *cf_getinfo_all(int *err);
int cf_open(struct fi_info *info, struct fid_fabric **f, struct fid_domain **d, struct fid_eq **eq);
int cf_eq_fd(struct fid_eq *eq);
int cf_cq_open(struct fid_domain *d, size_t size, struct fid_cq **cq, int *fd);
int cf_trywait(struct fid_fabric *f, struct fid **fids, int n);
int cf_pep(struct fid_fabric *f, struct fi_info *info, struct fid_eq *eq, struct fid_pep **pep,
           void *addr, size_t *len);
int cf_reject(struct fid_pep *pep, struct fi_info *info);
int cf_ep(struct fid_domain *d, struct fi_info *info, uint64_t ctx, struct fid_eq *eq,
          struct fid_cq *tx, struct fid_cq *rx, int features, size_t tx_size, size_t rx_size,
          void *dest, size_t destlen, struct fid_ep **ep);
int cf_connect(struct fid_ep *ep, const void *addr, uint64_t token);
int cf_accept(struct fid_ep *ep);
int cf_reg(struct fid_domain *d, void *p, size_t len, uint64_t access, uint64_t key, struct fid_mr **mr);
int cf_close(struct fid *f);
int cf_recv(struct fid_ep *ep, uint64_t buf, size_t len, uint64_t desc, uint64_t ctx, int more);
int cf_post(struct fid_ep *ep, const struct cf_req *r, int n, int features, size_t inject, int *err);
int cf_poll(struct fid_cq *cq, struct cf_comp *out, int n);
int cf_eq_read(struct fid_eq *eq, struct cf_event *ev);
const char *cf_cq_strerror(struct fid_cq *cq, int prov_errno);
#endif
