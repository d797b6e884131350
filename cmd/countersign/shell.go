// Shell completion: three small scripts that ask the program itself for candidates.

package main

import (
	"sort"
	"strings"

	"github.com/alecthomas/kong"
)

type shellCompletionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Help is shown by --help.
func (shellCompletionCommand) Help() string {
	return `For this session:

  source <(countersign shell-completion bash)
  source <(countersign shell-completion zsh)
  countersign shell-completion fish | source`
}

var completionScripts = map[string]string{
	"bash": `_countersign() {
  local IFS=$'\n'
  COMPREPLY=($(countersign __complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _countersign countersign
`,
	"zsh": `#compdef countersign
_countersign() {
  local -a found
  found=("${(@f)$(countersign __complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if (( ${#found[@]} )) && [[ -n "${found[1]}" ]]; then
    compadd -- "${found[@]}"
  else
    _files
  fi
}
compdef _countersign countersign
`,
	"fish": `function __countersign_complete
  set -l words (commandline -opc) (commandline -ct)
  set -l found (countersign __complete -- $words[2..] 2>/dev/null)
  if set -q found[1]
    printf '%s\n' $found
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c countersign -f -a '(__countersign_complete)'
`,
}

// Run prints the script.
func (c *shellCompletionCommand) Run(s *session) error {
	script := completionScripts[c.Shell]
	return s.print(struct {
		Shell  string `json:"shell"`
		Script string `json:"script"`
	}{c.Shell, script}, func() error {
		s.out.Printf("%s", script)
		return nil
	})
}

type completeCommand struct {
	Words []string `arg:"" optional:"" passthrough:""`
}

// Run prints the candidates for the last word, one a line; none means file names, as the shell likes.
func (c *completeCommand) Run(s *session) error {
	words := c.Words
	if len(words) > 0 && words[0] == "--" {
		words = words[1:]
	}
	for _, candidate := range candidates(s.kong.Model, words) {
		s.out.Println(candidate)
	}
	return nil
}

// candidates completes the last word: a subcommand, a flag of the command so far, or a flag's value.
func candidates(app *kong.Application, words []string) []string {
	if len(words) == 0 {
		words = []string{""}
	}
	before, last := words[:len(words)-1], words[len(words)-1]
	node := app.Node
	values := flagsWithValue(app.Node)
	for i := 0; i < len(before); i++ {
		if values[before[i]] {
			i++
			continue
		}
		if child := childNamed(node, before[i]); child != nil {
			node = child
		}
	}
	if len(before) > 0 && values[before[len(before)-1]] {
		return matching(enumOf(node, before[len(before)-1]), last)
	}
	var all []string
	if strings.HasPrefix(last, "-") {
		for _, group := range node.AllFlags(true) {
			for _, f := range group {
				all = append(all, "--"+f.Name)
			}
		}
		return matching(all, last)
	}
	for _, child := range node.Children {
		if !child.Hidden {
			all = append(all, child.Name)
		}
	}
	for _, p := range node.Positional {
		all = append(all, p.EnumSlice()...)
	}
	return matching(all, last)
}

func enumOf(node *kong.Node, flag string) []string {
	for _, group := range node.AllFlags(true) {
		for _, f := range group {
			if flag == "--"+f.Name || flag == "-"+string(f.Short) {
				return f.EnumSlice()
			}
		}
	}
	return nil
}

func matching(all []string, prefix string) []string {
	var found []string
	for _, word := range all {
		if word != "" && strings.HasPrefix(word, prefix) {
			found = append(found, word)
		}
	}
	sort.Strings(found)
	return found
}
