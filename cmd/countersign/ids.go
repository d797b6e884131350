// Ids that were typed by a person.

package main

import (
	"regexp"

	"countersign/contracts"
)

var possibleID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)

// checkID refuses what cannot be an id before it becomes part of a URL.
func checkID(what, id string) error {
	if !possibleID.MatchString(id) {
		return contracts.Refuse(contracts.CodeNotFound, "%q is no %s's id", id, what)
	}
	return nil
}
