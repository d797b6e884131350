//go:build !race

// Not under the race detector.

package artifact_test

const underRace = false
