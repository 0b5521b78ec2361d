//go:build !race

package server

const raceFactor = 1
