// The rules of a completion, in the order in which they are broken.

package completion

import (
	"math"
	"strconv"

	"countersign/contracts"

	"github.com/go-json-experiment/json/jsontext"
)

func readCompletion(o object) (Payload, *contracts.Error) {
	if v := checkKnown("$", o, "contract", "summary", "files_changed", "verification", "receipt_ref"); v != nil {
		return nil, v
	}
	c := Completion{FilesChanged: []string{}}
	var v *contracts.Error
	if c.Summary, v = readRequired("$", o, "summary", MaxSummary); v != nil {
		return nil, v
	}
	if raw, given := o.get("files_changed"); given && raw.Kind() != 'n' {
		if c.FilesChanged, v = readList("$.files_changed", raw, unlimited); v != nil {
			return nil, v
		}
	}
	if raw, given := o.get("verification"); given && raw.Kind() != 'n' {
		if c.Verification, v = readVerification(raw); v != nil {
			return nil, v
		}
	}
	if raw, given := o.get("receipt_ref"); given && raw.Kind() != 'n' {
		if c.ReceiptRef, v = readText("$.receipt_ref", raw, unlimited); v != nil {
			return nil, v
		}
	}
	return c, nil
}

func readVerification(raw jsontext.Value) (*Verification, *contracts.Error) {
	if raw.Kind() != '{' {
		return nil, violation("$.verification", "must be an object of command and exit_code, or null, not %s", typeName(raw))
	}
	o := members(raw)
	if v := checkKnown("$.verification", o, "command", "exit_code"); v != nil {
		return nil, v
	}
	command, v := readRequired("$.verification", o, "command", unlimited)
	if v != nil {
		return nil, v
	}
	code, v := readExitCode(o)
	if v != nil {
		return nil, v
	}
	return &Verification{Command: command, ExitCode: code}, nil
}

// readExitCode takes an integer literal only: 1.0 and 1e0 are numbers a command cannot end with.
func readExitCode(o object) (int64, *contracts.Error) {
	const at = "$.verification.exit_code"
	raw, given := o.get("exit_code")
	if !given {
		return 0, violation(at, "is required")
	}
	if raw.Kind() != '0' {
		return 0, violation(at, "must be an integer, not %s", typeName(raw))
	}
	code, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil || code < math.MinInt32 || code > math.MaxUint32 {
		return 0, violation(at, "must be an integer without fraction or exponent from %d to %d", math.MinInt32, math.MaxUint32)
	}
	return code, nil
}
