//go:build !race

package remote

const underRace = false
