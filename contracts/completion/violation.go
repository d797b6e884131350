// The one refusal of this package.

package completion

import (
	"fmt"
	"strconv"

	"countersign/contracts"
)

func violation(path, format string, args ...any) *contracts.Error {
	return &contracts.Error{Code: contracts.CodeContractViolation, Contract: Version, Path: path, Detail: fmt.Sprintf(format, args...)}
}

// quote writes a stranger's text into a message: escaped, and cut to 40 characters.
func quote(s string) string {
	n := 0
	for i := range s {
		if n++; n > 40 {
			return strconv.Quote(s[:i] + "...")
		}
	}
	return strconv.Quote(s)
}
