//go:build !race

// Without the race detector the properties see all their inputs.

package capability_test

const underRace = false
