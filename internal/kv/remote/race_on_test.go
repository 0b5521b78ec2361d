//go:build race

package remote

// underRace: the race detector allocates, and is slow.
const underRace = true
