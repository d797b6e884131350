// The subcommands that the bridge runs of its own program.

package bridge

import "os"

// The hidden subcommands. A program that embeds a bridge must answer to both; RunHidden does that.
const (
	// CommandGuard is the small process that stands between the bridge and one agent.
	CommandGuard = "agent-guard"
	// CommandSyntheticAgent is the provider of the synthetic runtime.
	CommandSyntheticAgent = "synthetic-agent"
)

// RunHidden runs a hidden subcommand when args (without the program's name) name one, and returns
// its exit status. A main function calls it before anything else.
func RunHidden(args []string) (status int, hidden bool) {
	if len(args) == 0 {
		return 0, false
	}
	switch args[0] {
	case CommandGuard:
		return guard(args[1:]), true
	case CommandSyntheticAgent:
		dir, err := os.Getwd()
		if err != nil {
			return 1, true
		}
		return SyntheticAgent(os.Stdin, os.Stdout, os.Stderr, dir), true
	}
	return 0, false
}
