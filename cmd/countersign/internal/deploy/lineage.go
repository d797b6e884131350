// The lineage key of a deployment.

package deploy

import (
	"countersign/cmd/countersign/internal/keyfile"
	"countersign/store"
)

// Lineage says what records of artifacts and attachments are signed and sealed with. Workers need it to
// accept artifacts, the API to take attachments.
type Lineage struct {
	LineageKey     string `type:"path" default:"~/.local/state/countersign/lineage-key.pem" env:"COUNTERSIGN_LINEAGE_KEY" placeholder:"FILE" help:"The key that signs lineage entries: Ed25519, PKCS#8 in PEM, readable by its owner alone (${default})."`
	OperatorSecret string `env:"COUNTERSIGN_OPERATOR_SECRET,BERNSTEIN_OPERATOR_SECRET" placeholder:"SECRET" help:"The operator's secret, which seals each line of a lineage log; none for no seal. Better given by the environment."`
}

// EnsureLineage makes the key's file when there is none.
func (c Lineage) EnsureLineage() error {
	_, err := keyfile.EnsureLineage(c.LineageKey)
	return err
}

// Signer reads the file whenever something is signed.
func (c Lineage) Signer() store.LineageSigner {
	return keyfile.LineageSigner(c.LineageKey, c.OperatorSecret)
}
