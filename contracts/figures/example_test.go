// How the package is used.

package figures_test

import (
	"fmt"

	"countersign/contracts/figures"
)

func ExampleTokenizer_Evaluate() {
	tokenizer, err := figures.NewTokenizer(figures.DefaultPolicy())
	if err != nil {
		panic(err)
	}
	report := figures.Bundle{
		Body: "We migrated 1,234 users on 2026-07-24,\nsaving $5,000.\n",
		Figures: []figures.Figure{{
			Value: "1234", Unit: "users", Label: "migrated users",
			Anchor: figures.Anchor{Kind: figures.AnchorReceipt, Ref: "q-7"},
		}},
	}
	verdict := tokenizer.Evaluate(report, func(a figures.Anchor) figures.Resolution { return figures.Traced(a, 3) })
	fmt.Println(verdict.Provenances[0].Statement)
	fmt.Println(verdict.Detail())
	// Output:
	// traces to receipt q-7, recorded at chain position 3
	// unanchored currency '$5,000' at line 2, col 8 is not declared in figures.json
}

func ExampleKey() {
	for _, value := range []string{"$1,234.50", "1.2345e3", "4.5 million", "10-20%", "n/a"} {
		fmt.Println(figures.Key(value))
	}
	// Output:
	// 1234.5
	// 1234.5
	// 4.5M
	// 10
	// n/a
}
