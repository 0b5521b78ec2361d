//go:build !race

package remote

const raceFactor = 1
