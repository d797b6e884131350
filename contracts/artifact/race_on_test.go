//go:build race

// Under the race detector.

package artifact_test

const underRace = true
