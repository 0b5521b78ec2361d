//go:build race

package catfishtest

// RaceFactor leaves seeds out under the race detector where they only look
// at more answers.
const RaceFactor = 6
