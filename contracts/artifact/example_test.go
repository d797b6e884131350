// How a produced file is read and judged.

package artifact_test

import (
	"bytes"
	"fmt"
	"strings"

	"countersign/contracts/artifact"
)

func Example() {
	spec, err := artifact.ParseSpec([]byte(`
kind: dataset
output_path: out/rows.jsonl
criteria:
  - type: criteria_match
    value: '[{"path": "0.id", "op": "eq", "value": 1}]'
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	var stored bytes.Buffer
	canonical, err := artifact.Canonicalise(spec.Kind, strings.NewReader("{\"name\": \"Ada\", \"id\": 1.0}\r\n"), &stored)
	if err != nil {
		fmt.Println(err)
		return
	}
	results, err := artifact.Evaluate(spec.Kind, &stored, spec.Criteria, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(canonical.Bytes, canonical.Rows, results)
	// Output: 21 1 [{criteria_match true predicates that hold: 1}]
}

func ExampleCanonicalise() {
	_, err := artifact.Canonicalise(artifact.Dataset, strings.NewReader("{}\n{\"id\": 9007199254740993}\n"), &bytes.Buffer{})
	fmt.Println(err)
	// Output: line 2: the integer 9007199254740993 would become 9007199254740992; quote it if it is an id
}
