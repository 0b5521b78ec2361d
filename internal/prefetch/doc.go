// Package prefetch asks for memory before it is needed, so that independent
// reads wait for memory at the same time.
package prefetch

// LineBytes is the size of one fetch.
const LineBytes = 64
