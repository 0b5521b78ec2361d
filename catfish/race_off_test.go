//go:build !race

package catfish

const raceFactor = 1
