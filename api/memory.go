package api

import "github.com/catfish-index/catfish/internal/limits"

// memoryOf returns the memory guard of a Backend that has one; nil: it is never full.
//
// While memory is full, calls that need more are refused with RESOURCE_EXHAUSTED,
// SERVER_BUSY: inserts, updates, loads, and answers that hold more than
// limits.FullAnswer. Connections are not refused: an idle one holds little, their number
// is bounded, and a supervisor connects to check the server's health, and would
// otherwise kill it.
func memoryOf(b Backend) limits.Memory {
	m, _ := b.(limits.Memory)
	return m
}

// checkMemory refuses a write while b's memory is full.
func checkMemory(b Backend) error {
	if m := memoryOf(b); m != nil {
		return m.CheckMemory()
	}
	return nil
}
