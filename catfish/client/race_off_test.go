//go:build !race

package client

const raceFactor = 1
