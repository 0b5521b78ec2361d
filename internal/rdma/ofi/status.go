//go:build ofi

package ofi

/*
#include "shim.h"
*/
import "C"

import "github.com/catfish-index/catfish/internal/rdma"

// Codes of ibv_wc_status (ibv_poll_cq(3)), which libfabric's verbs passes on
// as the provider's errno.
const (
	wcFlushed       = 5  // WR_FLUSH_ERR
	wcRemoteInvalid = 9  // REM_INV_REQ_ERR
	wcRemoteAccess  = 10 // REM_ACCESS_ERR: key, right or bounds, not distinguished
	wcRemoteOp      = 11 // REM_OP_ERR
	wcRetry         = 12 // RETRY_EXC_ERR: no answer
	wcRNR           = 13 // RNR_RETRY_EXC_ERR
)

// statusOf translates an error completion. tcp's codes say only that the
// connection ended.
func (d *device) statusOf(err, vendor C.int32_t) rdma.Status {
	if d.at.Provider != Verbs {
		return rdma.StatusPeerLost
	}
	switch vendor {
	case wcRemoteInvalid, wcRemoteAccess:
		return rdma.StatusRemoteAccess
	case wcFlushed:
		return rdma.StatusFlushed
	case wcRemoteOp, wcRetry, wcRNR:
		return rdma.StatusPeerLost
	}
	if err == C.FI_ECANCELED {
		return rdma.StatusFlushed
	}
	return rdma.StatusPeerLost
}
