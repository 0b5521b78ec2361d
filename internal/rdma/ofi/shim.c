//go:build ofi

#include "shim.h"

#include <stdlib.h>
#include <string.h>

// Written against the API of libfabric 1.14 (2021), which later versions
// still have.
#define CF_VERSION FI_VERSION(1, 14)

static struct fi_info *hints(const char *prov, const char *domain, size_t depth)
{
	struct fi_info *h = fi_allocinfo();

	if (!h)
		return NULL;
	h->ep_attr->type = FI_EP_MSG;
	h->caps = FI_MSG | FI_RMA;
	h->mode = FI_RX_CQ_DATA;
	h->addr_format = FI_FORMAT_UNSPEC;
	h->domain_attr->threading = FI_THREAD_SAFE;
	h->domain_attr->mr_mode =
		FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	h->tx_attr->msg_order = CF_ORDER;
	h->rx_attr->msg_order = CF_ORDER;
	h->tx_attr->size = depth;
	h->rx_attr->size = depth;
	if (prov)
		h->fabric_attr->prov_name = strdup(prov);
	if (domain)
		h->domain_attr->name = strdup(domain);
	return h;
}

// libfabric's cache of registrations is off: it keeps memory registered after
// it was closed, and registers all of it for remote writes, so that clients
// could change what they may only read (verbs_mr.c). Registrations are few
// and long-lived here. The setting is read once, by the first fi_getinfo.
__attribute__((constructor)) static void no_cache(void)
{
	setenv("FI_MR_CACHE_MONITOR", "disabled", 1);
}

static struct fi_info *getinfo(const char *prov, const char *domain, const char *node, size_t depth, int *err)
{
	struct fi_info *h = hints(prov, domain, depth), *info = NULL;

	if (!h) {
		*err = -FI_ENOMEM;
		return NULL;
	}
	*err = fi_getinfo(CF_VERSION, node, NULL, node ? FI_SOURCE : 0, h, &info);
	fi_freeinfo(h);
	return *err ? NULL : info;
}

// The depth that is requested here bounds those of all endpoints: verbs
// grants 384 by default. The deepest queues here have about 1,200 entries.
struct fi_info *cf_getinfo(const char *prov, const char *domain, const char *node, int *err)
{
	static const size_t depths[] = {8192, 4096, 2048, 1024, 0};
	struct fi_info *info = NULL;
	size_t i;

	for (i = 0; !info && i < sizeof(depths) / sizeof(depths[0]); i++)
		info = getinfo(prov, domain, node, depths[i], err);
	return info;
}

struct fi_info *cf_getinfo_all(int *err)
{
	return getinfo(NULL, NULL, NULL, 0, err);
}

int cf_open(struct fi_info *info, struct fid_fabric **f, struct fid_domain **d, struct fid_eq **eq)
{
	struct fi_eq_attr attr = {.wait_obj = FI_WAIT_FD};
	int ret = fi_fabric(info->fabric_attr, f, NULL);

	if (ret)
		return ret;
	ret = fi_domain(*f, info, d, NULL);
	if (ret) {
		fi_close(&(*f)->fid);
		return ret;
	}
	ret = fi_eq_open(*f, &attr, eq, NULL);
	if (ret) {
		fi_close(&(*d)->fid);
		fi_close(&(*f)->fid);
	}
	return ret;
}

int cf_eq_fd(struct fid_eq *eq)
{
	int fd = -1, ret = fi_control(&eq->fid, FI_GETWAIT, &fd);

	return ret ? ret : fd;
}

int cf_cq_open(struct fid_domain *d, size_t size, struct fid_cq **cq, int *fd)
{
	struct fi_cq_attr attr = {
		.size = size,
		.format = FI_CQ_FORMAT_DATA,
		.wait_obj = FI_WAIT_FD,
	};
	int ret = fi_cq_open(d, &attr, cq, NULL);

	if (ret)
		return ret;
	ret = fi_control(&(*cq)->fid, FI_GETWAIT, fd);
	if (ret)
		fi_close(&(*cq)->fid);
	return ret;
}

int cf_trywait(struct fid_fabric *f, struct fid **fids, int n)
{
	return fi_trywait(f, fids, n);
}

int cf_pep(struct fid_fabric *f, struct fi_info *info, struct fid_eq *eq, struct fid_pep **pep,
           void *addr, size_t *len)
{
	int ret = fi_passive_ep(f, info, pep, NULL);

	if (ret)
		return ret;
	ret = fi_pep_bind(*pep, &eq->fid, 0);
	if (!ret)
		ret = fi_listen(*pep);
	if (!ret)
		ret = fi_getname(&(*pep)->fid, addr, len);
	if (ret)
		fi_close(&(*pep)->fid);
	return ret;
}

int cf_reject(struct fid_pep *pep, struct fi_info *info)
{
	return fi_reject(pep, info->handle, NULL, 0);
}

// info comes from fi_getinfo (then dest is set) or from FI_CONNREQ.
int cf_ep(struct fid_domain *d, struct fi_info *info, uint64_t ctx, struct fid_eq *eq,
          struct fid_cq *tx, struct fid_cq *rx, int features, size_t tx_size, size_t rx_size,
          void *dest, size_t destlen, struct fid_ep **ep)
{
	struct fi_info *mine = fi_dupinfo(info);
	int ret;

	if (!mine)
		return -FI_ENOMEM;
	mine->handle = info->handle;
	// tcp refuses to promise more than 1024, but accepts any number
	// (tcpx_attr.c, tcpx_alloc_tx).
	if (features & CF_ACKED && tx_size > 1024)
		tx_size = 1024;
	mine->tx_attr->size = tx_size;
	mine->rx_attr->size = rx_size;
	mine->tx_attr->op_flags = 0;
	mine->rx_attr->op_flags = 0;
	mine->tx_attr->iov_limit = 1;
	mine->rx_attr->iov_limit = 1;
	if (dest) {
		if (features & CF_ACKED) { // tcp: let the route decide
			free(mine->src_addr);
			mine->src_addr = NULL;
			mine->src_addrlen = 0;
		}
		free(mine->dest_addr);
		mine->dest_addr = malloc(destlen);
		if (!mine->dest_addr) {
			fi_freeinfo(mine);
			return -FI_ENOMEM;
		}
		memcpy(mine->dest_addr, dest, destlen);
		mine->dest_addrlen = destlen;
	}
	ret = fi_endpoint(d, mine, ep, (void *) (uintptr_t) ctx);
	mine->handle = NULL;
	fi_freeinfo(mine);
	if (ret)
		return ret;
	ret = fi_ep_bind(*ep, &eq->fid, 0);
	if (!ret)
		ret = fi_ep_bind(*ep, &tx->fid, FI_TRANSMIT | FI_SELECTIVE_COMPLETION);
	if (!ret)
		ret = fi_ep_bind(*ep, &rx->fid, FI_RECV);
	if (!ret)
		ret = fi_enable(*ep);
	if (ret)
		fi_close(&(*ep)->fid);
	return ret;
}

int cf_connect(struct fid_ep *ep, const void *addr, uint64_t token)
{
	return fi_connect(ep, addr, &token, sizeof(token));
}

int cf_accept(struct fid_ep *ep)
{
	return fi_accept(ep, NULL, 0);
}

int cf_reg(struct fid_domain *d, void *p, size_t len, uint64_t access, uint64_t key, struct fid_mr **mr)
{
	return fi_mr_reg(d, p, len, access, 0, key, 0, mr, NULL);
}

int cf_close(struct fid *f)
{
	return fi_close(f);
}

int cf_recv(struct fid_ep *ep, uint64_t buf, size_t len, uint64_t desc, uint64_t ctx, int more)
{
	struct iovec iov = {(void *) (uintptr_t) buf, len};
	void *d = (void *) (uintptr_t) desc;
	struct fi_msg msg = {
		.msg_iov = &iov,
		.desc = &d,
		.iov_count = 1,
		.context = (void *) (uintptr_t) ctx,
	};

	return (int) fi_recvmsg(ep, &msg, more ? FI_MORE | FI_COMPLETION : FI_COMPLETION);
}

static ssize_t post_rma(struct fid_ep *ep, const struct cf_req *r, uint64_t flags)
{
	struct iovec iov = {(void *) (uintptr_t) r->local, r->len};
	struct fi_rma_iov rma = {r->remote, r->len, r->key};
	void *desc = (void *) (uintptr_t) r->desc;
	struct fi_msg_rma msg = {
		.msg_iov = &iov,
		.desc = &desc,
		.iov_count = 1,
		.rma_iov = &rma,
		.rma_iov_count = 1,
		.context = (void *) (uintptr_t) r->ctx,
		.data = r->imm,
	};

	if (r->op == CF_READ)
		return fi_readmsg(ep, &msg, flags);
	return fi_writemsg(ep, &msg, flags);
}

// The event of a write for providers whose writes with data consume no
// receive, so that nothing identifies the endpoint on which they arrived, and
// nothing holds them back: a message of its own, four bytes that give the
// length of the write, ordered behind it (FI_ORDER_SAW).
static ssize_t post_event(struct fid_ep *ep, const struct cf_req *r, uint64_t flags)
{
	uint32_t len = (uint32_t) r->len;
	struct iovec iov = {&len, sizeof(len)};
	void *desc = NULL;
	struct fi_msg msg = {
		.msg_iov = &iov,
		.desc = &desc,
		.iov_count = 1,
		.context = (void *) (uintptr_t) r->ctx,
		.data = r->imm,
	};

	return fi_sendmsg(ep, &msg, flags | FI_REMOTE_CQ_DATA | FI_INJECT);
}

static ssize_t post_one(struct fid_ep *ep, const struct cf_req *r, int features, size_t inject)
{
	// All ask for a completion: for a request that does not, libfabric's
	// verbs also drops the error (vrb_poll_cq), and it makes the card signal
	// every one in any case.
	uint64_t flags = FI_COMPLETION;
	ssize_t ret;

	if (features & CF_ACKED)
		flags |= FI_DELIVERY_COMPLETE;
	if (r->more)
		flags |= FI_MORE;
	if (r->op != CF_READ && r->len <= inject)
		flags |= FI_INJECT;
	if (r->op != CF_WRITE_IMM)
		return post_rma(ep, r, flags);
	if (features & CF_DATA_RECV)
		return post_rma(ep, r, flags | FI_REMOTE_CQ_DATA);
	if (r->len > 0) {
		ret = post_rma(ep, r, (flags & ~FI_COMPLETION) | FI_MORE);
		if (ret)
			return ret;
	}
	return post_event(ep, r, flags);
}

// cf_post posts up to n requests and returns how many were accepted; *err is
// the reason if not all were.
int cf_post(struct fid_ep *ep, const struct cf_req *r, int n, int features, size_t inject, int *err)
{
	int i;

	*err = 0;
	for (i = 0; i < n; i++) {
		ssize_t ret = post_one(ep, &r[i], features, inject);

		if (ret) {
			*err = (int) ret;
			break;
		}
	}
	return i;
}

// cf_poll takes up to n completions. Errors are taken from their queue in
// their place.
int cf_poll(struct fid_cq *cq, struct cf_comp *out, int n)
{
	struct fi_cq_data_entry e[64];
	int got = 0;

	while (got < n) {
		int want = n - got < 64 ? n - got : 64, i;
		ssize_t ret = fi_cq_read(cq, e, want);

		if (ret == -FI_EAVAIL) {
			struct fi_cq_err_entry bad = {0};

			ret = fi_cq_readerr(cq, &bad, 0);
			if (ret <= 0)
				break;
			out[got++] = (struct cf_comp){
				.ctx = (uintptr_t) bad.op_context,
				.flags = bad.flags,
				.err = bad.err ? bad.err : FI_EOTHER,
				.prov_errno = bad.prov_errno,
			};
			continue;
		}
		if (ret <= 0) {
			if (ret < 0 && ret != -FI_EAGAIN && !got)
				return (int) ret;
			break;
		}
		for (i = 0; i < ret; i++)
			out[got++] = (struct cf_comp){
				.ctx = (uintptr_t) e[i].op_context,
				.flags = e[i].flags,
				.len = e[i].len,
				.data = e[i].data,
			};
		if (ret < want)
			break;
	}
	return got;
}

// cf_eq_read takes one event: 1, 0 when there is none.
int cf_eq_read(struct fid_eq *eq, struct cf_event *ev)
{
	char buf[sizeof(struct fi_eq_cm_entry) + 256];
	struct fi_eq_cm_entry *cm = (void *) buf;
	uint32_t event = 0;
	ssize_t ret = fi_eq_read(eq, &event, buf, sizeof(buf), 0);

	memset(ev, 0, sizeof(*ev));
	if (ret == -FI_EAVAIL) {
		struct fi_eq_err_entry bad = {0};

		ret = fi_eq_readerr(eq, &bad, 0);
		if (ret < 0)
			return ret == -FI_EAGAIN ? 0 : (int) ret;
		ev->err = bad.err ? bad.err : FI_EOTHER;
		ev->prov_errno = bad.prov_errno;
		if (bad.fid)
			ev->ctx = (uintptr_t) bad.fid->context;
		return 1;
	}
	if (ret == -FI_EAGAIN || ret == 0)
		return 0;
	if (ret < 0)
		return (int) ret;
	ev->event = event;
	if (event != FI_CONNREQ && event != FI_CONNECTED && event != FI_SHUTDOWN)
		return 1;
	ev->ctx = (uintptr_t) cm->fid->context;
	if (event == FI_CONNREQ) {
		ev->info = cm->info;
		if (ret >= (ssize_t) (sizeof(*cm) + sizeof(ev->token)))
			memcpy(&ev->token, cm->data, sizeof(ev->token));
	}
	return 1;
}

const char *cf_cq_strerror(struct fid_cq *cq, int prov_errno)
{
	return fi_cq_strerror(cq, prov_errno, NULL, NULL, 0);
}
