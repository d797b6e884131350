//go:build race

// Under the race detector everything takes ten times as long, and a pure package has little to race.

package capability_test

const underRace = true
