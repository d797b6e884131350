// Task ids that name a directory.

package artifact

import (
	"regexp"
	"strings"

	"countersign/contracts"
)

var taskID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)

// CheckTaskID refuses a task id that must not become part of a path: anything but 1 to 128 letters,
// digits, dots, underscores and hyphens, the first a letter or digit; and "identity", in any case,
// which is where the signing key lives. The error is a *contracts.Error of code invalid at "task_id".
func CheckTaskID(id string) error {
	if !taskID.MatchString(id) || strings.EqualFold(id, "identity") {
		return contracts.Invalid("task_id", "%s cannot be a task id", quote(id))
	}
	return nil
}
