package names

// Transport says in words what a transport is, so that no reader mistakes an emulation
// for hardware.
func Transport(name string) string {
	switch name {
	case "shm":
		return "shm (shared memory, no RDMA hardware)"
	case "soft":
		return "soft (software RNIC over TCP, no RDMA hardware)"
	case "ofi":
		return "ofi (libfabric)"
	case "tcp":
		return "tcp (plain sockets, no RDMA)"
	}
	return name
}
