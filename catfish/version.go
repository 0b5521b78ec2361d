package catfish

import "github.com/catfish-index/catfish/rdma/ofi"

// ProtocolVersion is what clients and servers of this build speak.
const ProtocolVersion = protocolVersion

// HasOFI reports whether libfabric, which transport ofi needs, is in this build.
const HasOFI = ofi.Built
