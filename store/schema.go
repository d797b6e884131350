// The name of the schema this program was built with.

package store

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
)

// SchemaDigest is the lowercase hex SHA-256 of the embedded migrations: two programs with the same
// digest make the same schema.
func SchemaDigest() (string, error) {
	sum := sha256.New()
	err := fs.WalkDir(migrations, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := fs.ReadFile(migrations, name)
		fmt.Fprintf(sum, "%s %d\n%s", name, len(body), body)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("embedded migrations: %w", err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
