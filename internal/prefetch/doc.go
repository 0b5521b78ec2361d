// Package prefetch asks for memory before it is needed, so that reads which do
// not depend on each other wait for memory at the same time.
package prefetch

// LineBytes is what is fetched at once.
const LineBytes = 64
