package client

import (
	"github.com/catfish-index/catfish/internal/rdma/ofi"
	"github.com/catfish-index/catfish/internal/wire"
)

// ProtocolVersion is the protocol of this build's clients and servers.
const ProtocolVersion = wire.ProtocolVersion

// HasOFI reports whether libfabric, which transport ofi needs, is in this build.
const HasOFI = ofi.Built
