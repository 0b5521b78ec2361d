//go:build !race

package catfishtest

// RaceFactor is 1 without the race detector: all seeds.
const RaceFactor = 1
