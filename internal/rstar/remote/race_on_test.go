//go:build race

package remote

// raceFactor leaves seeds out under the race detector where they only look
// at more answers.
const raceFactor = 6
