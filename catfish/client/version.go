package client

import (
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/rdma/ofi"
)

// ProtocolVersion is the protocol of this build's clients and servers.
const ProtocolVersion = wire.ProtocolVersion

// HasOFI reports whether libfabric, which transport ofi needs, is in this build.
const HasOFI = ofi.Built
