// The words of --help.

package main

import "github.com/alecthomas/kong"

const description = `Agent tasks that count only when a second, independent session has signed for them.

Try it on this machine, with nothing set up:

  countersign dev --demo             everything runs, one task goes from dispatch to receipt
  countersign task list              in a second terminal: what it did
  countersign workflow get TASK --watch

A server elsewhere is named by --server and --token, or by the environment:

  COUNTERSIGN_URL, COUNTERSIGN_TOKEN  the server and the operator's token
  NO_COLOR                            no colours, whatever the terminal

Flags may stand anywhere; -- ends them; a file argument may be -, standard input.
Exit status: 0 fine, 1 failed, 2 refused or bad data, 64 wrong usage, 130 interrupted;
workflow get adds 3 blocked, 4 cancelled, 5 unknown task, 6 unreachable; receipt verify 3, signer unknown.`

var groups = []kong.Group{
	{Key: "start", Title: "On this machine:"},
	{Key: "work", Title: "Tasks and revisions:"},
	{Key: "check", Title: "Without a server:"},
	{Key: "setup", Title: "Setup:"},
	{Key: "deploy", Title: "Deployment:"},
	{Key: "other", Title: "Other:"},
	{Key: "config", Title: "Configuration:"},
}
