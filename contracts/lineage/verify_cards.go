// The cards of a tree.

package lineage

import (
	"crypto/ed25519"
	"errors"
	"io/fs"
	"path"
)

// maxCards is how many cards a tree may have.
const maxCards = 10_000

// signerID says which key of which agent.
type signerID struct{ agent, kid string }

// cards are the keys by which entries verify.
type cards map[signerID][]ed25519.PublicKey

// readCards reads every card.json below agents/, at any depth. One that cannot be read as a card is
// ignored, unless there is no other for AgentID, when it is said; two of one agent and key that differ are
// a failure.
func readCards(tree fs.FS, parse func([]byte) (Card, error), failures *failures) cards {
	found, at := map[signerID]Card{}, map[signerID]string{}
	var ignored []string
	count := 0
	err := fs.WalkDir(tree, "agents", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() || path.Base(name) != "card.json" {
			return nil
		}
		if count++; count > maxCards {
			return errors.New("more than 10000 cards")
		}
		data, err := readSmall(tree, name, MaxCard)
		var card Card
		if err == nil {
			card, err = parse(data)
		}
		if err != nil {
			ignored = append(ignored, name+" is no card: "+sentence(err))
			return nil
		}
		id := signerID{card.AgentID, card.KeyID}
		if earlier, seen := found[id]; !seen {
			found[id], at[id] = card, name
		} else if !earlier.same(card) {
			whose := ""
			if card.AgentID != AgentID {
				whose = ", another agent's,"
			}
			failures.add("%s and %s%s are both the card of %s with key %s and differ", at[id], name, whose, clip(id.agent), clip(id.kid))
		}
		return nil
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		failures.add("agents: is missing")
	case err != nil:
		failures.add("agents: cannot be read: %v", err)
	}
	all := cards{}
	for id, card := range found {
		all[id] = card.Keys()
	}
	if len(all[signerID{AgentID, KeyID}]) == 0 {
		failures.add("agents: no card of %s with key %s", AgentID, KeyID)
		for _, text := range ignored {
			failures.add("%s", text)
		}
	}
	return all
}
