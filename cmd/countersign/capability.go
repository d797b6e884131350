// countersign capability: the worker dispatch capability contract, evaluated without a server.

package main

import "countersign/contracts/capability"

type capabilityCommands struct {
	Evaluate capabilityEvaluate `cmd:"" help:"Judge a worker dispatch by the capability contract v1."`
}

type capabilityEvaluate struct {
	File string `arg:"" help:"The evaluator's input, JSON; - for standard input."`
}

// Help is shown by --help.
func (capabilityEvaluate) Help() string {
	return `It prints the result: action, normalised outcome with reason codes, claims denied, the independence gate, whether the
result may be promoted, and diagnostics for a person. Nothing is dispatched and nothing is asked of anybody; the input's
"now" is the only clock. Exit status: 0 whatever the result, 2 for an input that cannot be read.`
}

// Run evaluates.
func (c *capabilityEvaluate) Run(s *session) error {
	data, err := s.readInput(c.File)
	if err != nil {
		return err
	}
	in, err := capability.Decode(data)
	if err != nil {
		return about(c.File, err)
	}
	return s.out.JSON(capability.Evaluate(in))
}
