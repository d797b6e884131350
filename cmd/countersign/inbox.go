// countersign inbox: what needs a person.

package main

import (
	"strings"

	"countersign/contracts/workflow"
)

type inboxCommand struct {
	Limit int `default:"100" help:"How many, 1 to 500."`
}

// Help is shown by --help.
func (inboxCommand) Help() string {
	return `Refusals with what they ask, expired leases, blocked and exhausted revisions, in all your projects, oldest first;
each with the one next action. What is dispatched again or cancelled is no longer listed.`
}

// Run lists them.
func (c *inboxCommand) Run(s *session) error {
	r, err := s.remote()
	if err != nil {
		return err
	}
	inbox, err := r.Inbox(s.ctx, c.Limit)
	if err != nil {
		return err
	}
	return s.print(inbox, func() error {
		rows := make([][]string, 0, len(inbox.Items))
		for _, item := range inbox.Items {
			rows = append(rows, []string{item.TaskID, item.Reason, age(item.Since), item.Title, asked(item), item.NextAction})
		}
		if err := s.out.Table([]string{"TASK", "REASON", "SINCE", "TITLE", "ASKS", "NEXT"}, rows); err != nil {
			return err
		}
		if inbox.More {
			s.out.Println("there are more: --limit")
		}
		return nil
	})
}

// asked is what a refusal asks, names or proposes, in one line.
func asked(item workflow.InboxItem) string {
	r := refusalOf(item.Refusal)
	return r.Question + r.BlockingDep + strings.Join(r.ProposedSplit, "; ")
}
