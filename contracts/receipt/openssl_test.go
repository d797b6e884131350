// A stranger with openssl and a shell follows VERIFY.md to the letter.

package receipt_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"countersign/contracts/receipt"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"
)

var shellBlocks = regexp.MustCompile("(?s)```sh\n(.*?)```")

// follow writes the pack to a new directory and runs every command of its VERIFY.md, the manual of the
// untampered pack, there.
func follow(t *testing.T, pack receipt.Pack, manual []byte) error {
	t.Helper()
	dir := t.TempDir()
	for name, data := range pack {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
	blocks := shellBlocks.FindAllSubmatch(manual, -1)
	require.GreaterOrEqual(t, len(blocks), 4)
	var script bytes.Buffer
	for _, b := range blocks {
		script.Write(b[1])
	}
	cmd := exec.Command("sh", "-e")
	cmd.Dir, cmd.Stdin = dir, &script
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	verified := strings.Count(string(out), "Signature Verified Successfully")
	require.Equal(t, 1+strings.Count(string(manual), "-in link.pae"), verified, "%s", out)
	return nil
}

func needOpenSSL(t *testing.T) {
	t.Helper()
	_, err := exec.LookPath("openssl")
	require.NoError(t, err, "this test is an auditor with openssl")
}

// packs are a pack by a first key, by one that was vouched for twice, by one on P-256, and of an artifact.
func packs(t *testing.T) map[string]receipt.Pack {
	t.Helper()
	a, b, c := ed25519Key(t, "a"), p256Key(t), ed25519Key(t, "c")
	made := map[string]receipt.Pack{}
	for name, keys := range map[string][]*receipt.Key{"first key": {a}, "third key": {a, b, c}, "p256": {a, b}, "artifact": {a, c}} {
		s := newScene()
		if name == "artifact" {
			s = newArtifactScene()
		}
		pack, err := receipt.MakePack(s.sign(t, keys[len(keys)-1]), s.contractBytes(t), keySet(t, keys...))
		require.NoError(t, err)
		made[name] = pack
	}
	return made
}

func TestOpenSSLVerifies(t *testing.T) {
	t.Parallel()
	needOpenSSL(t)
	for name, pack := range packs(t) {
		require.NoError(t, follow(t, pack, pack[receipt.FileManual]), name)
		rebuilt(t, pack)
	}
}

// rebuilt makes the signed bytes from the envelope by DSSE's words alone, with none of our code.
func rebuilt(t *testing.T, pack receipt.Pack) {
	t.Helper()
	var e struct {
		PayloadType string `json:"payloadType"`
		Payload     string `json:"payload"`
	}
	require.NoError(t, json.Unmarshal(pack[receipt.FileEnvelope], &e))
	payload, err := base64.StdEncoding.DecodeString(e.Payload)
	require.NoError(t, err)
	pae := "DSSEv1 " + strconv.Itoa(len(e.PayloadType)) + " " + e.PayloadType + " " + strconv.Itoa(len(payload)) + " " + string(payload)
	require.Equal(t, pae, string(pack[receipt.FilePAE]))
}

func TestOpenSSLFailsOnTampering(t *testing.T) {
	t.Parallel()
	needOpenSSL(t)
	other := packs(t)["first key"]
	for name, pack := range packs(t) {
		for _, file := range []string{receipt.FileContract, receipt.FileVerdict, receipt.FilePAE, receipt.FileSig} {
			for _, at := range []int{0, len(pack[file]) / 3, len(pack[file]) - 1} {
				bad := maps.Clone(pack)
				bad[file] = bytes.Clone(pack[file])
				bad[file][at] ^= 1
				require.Error(t, follow(t, bad, pack[receipt.FileManual]), "%s: %s at %d", name, file, at)
			}
		}
		for what, change := range map[string][2]string{
			"the payload":     {`"payload":"e`, `"payload":"f`},
			"the signature":   {`"sig":"`, `"sig":"AAAA`},
			"no signature":    {`"sig":"`, `"gis":"`},
			"no payload":      {`"payload":"`, `"daolyap":"`},
			"a second sealed": {`}]`, `},{"keyid":"","sig":"AAAA"}]`},
		} {
			bad := maps.Clone(pack)
			bad[receipt.FileEnvelope] = bytes.Replace(pack[receipt.FileEnvelope], []byte(change[0]), []byte(change[1]), 1)
			require.NotEqual(t, pack[receipt.FileEnvelope], bad[receipt.FileEnvelope], what)
			require.Error(t, follow(t, bad, pack[receipt.FileManual]), "%s: %s", name, what)
		}
		if name == "first key" {
			continue
		}
		// Everything from another pack: signed, but not by the key that was asked for.
		foreign := maps.Clone(other)
		require.Error(t, follow(t, foreign, pack[receipt.FileManual]), name)
		manual := bytes.Replace(pack[receipt.FileManual], []byte("BEGIN PUBLIC KEY-----\nM"), []byte("BEGIN PUBLIC KEY-----\nN"), 1)
		require.Error(t, follow(t, pack, manual), "%s: another key than its fingerprint says", name)
	}
}
