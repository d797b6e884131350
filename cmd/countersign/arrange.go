// Flags may stand anywhere, also before the command they belong to.

package main

import (
	"strings"

	"github.com/alecthomas/kong"
)

// arrange moves the words that name the command to the front and leaves the rest in order, so that
// `--watch workflow get T` means what `workflow get --watch T` does. Nothing after -- is touched.
func arrange(app *kong.Application, args []string) []string {
	values := flagsWithValue(app.Node)
	node := app.Node
	var command, rest []string
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if len(node.Children) == 0 || arg == "--" {
			rest = append(rest, args[i:]...)
			break
		}
		if strings.HasPrefix(arg, "-") && arg != "-" {
			rest = append(rest, arg)
			if values[arg] && i+1 < len(args) {
				i++
				rest = append(rest, args[i])
			}
			continue
		}
		child := childNamed(node, arg)
		if child == nil {
			// No such command: kong says so, and what is near.
			rest = append([]string{arg}, append(rest, args[i+1:]...)...)
			break
		}
		node = child
		command = append(command, arg)
	}
	return append(command, rest...)
}

func childNamed(node *kong.Node, name string) *kong.Node {
	for _, child := range node.Children {
		if child.Name == name {
			return child
		}
	}
	return nil
}

// flagsWithValue are all flags, of any command, that take the next argument as their value.
func flagsWithValue(node *kong.Node) map[string]bool {
	found := map[string]bool{}
	for _, f := range node.Flags {
		if f.IsBool() || f.IsCounter() {
			continue
		}
		found["--"+f.Name] = true
		if f.Short != 0 {
			found["-"+string(f.Short)] = true
		}
	}
	for _, child := range node.Children {
		for name := range flagsWithValue(child) {
			found[name] = true
		}
	}
	return found
}
