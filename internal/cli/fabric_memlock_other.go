//go:build !linux

package cli

// memlock: there is no RDMA here, so the limit does not matter.
func memlock() lockedMemory { return lockedMemory{} }
