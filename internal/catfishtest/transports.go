package catfishtest

import "github.com/catfish-index/catfish/catfish/model"

// OneSided are the transports with RDMA Reads that this build tests, of
// those that servers offer, and Fabric is ofi's device. With the tag ofi both are
// those of ofi.go.
var (
	OneSided = []string{model.TransportSHM, model.TransportSoft}
	Offered  = OneSided
	Fabric   model.Fabric
)
