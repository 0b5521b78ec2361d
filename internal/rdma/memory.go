package rdma

// MemoryRegistrar is a Device that can register memory that it did not
// allocate, as verbs and libfabric can: so one slab can serve several
// devices. Shared memory cannot: its Regions are files.
type MemoryRegistrar interface {
	// RegisterMemory registers mem, which must be aligned to 64 bytes, hold
	// no Go pointers, not move, and outlive the Region. Closing the Region
	// does not free mem; its owner may free it when Close has returned: Close
	// waits for remote accesses that have begun. Requests of this process that
	// use the Region must have completed.
	RegisterMemory(mem []byte, access Access) (Region, error)
}
