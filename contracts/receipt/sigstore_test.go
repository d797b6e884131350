// A stranger with sigstore's verifier and in-toto's library.

package receipt_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"countersign/contracts/canonjson"
	"countersign/contracts/receipt"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"
)

func TestSigstoreAndInToto(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds sigstore's verifier")
	}
	auditor := filepath.Join(t.TempDir(), "auditor")
	build := exec.Command("go", "build", "-o", auditor, ".")
	build.Dir = "../../tools/auditor" // a module of its own, no part of the program
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	for name, keys := range map[string]*receipt.Key{"ed25519": ed25519Key(t, "a"), "p256": p256Key(t)} {
		s := newScene()
		pack, err := receipt.MakePack(s.sign(t, keys), s.contractBytes(t), keySet(t, keys))
		require.NoError(t, err)
		dir := t.TempDir()
		file := func(name string, data []byte) string {
			path := filepath.Join(dir, name)
			require.NoError(t, os.WriteFile(path, data, 0o600))
			return path
		}
		key := file("signer.pem", []byte(keys.Public().PEM))
		good := file(receipt.FileSigstore, pack[receipt.FileSigstore])
		contract := file(receipt.FileContract, pack[receipt.FileContract])
		for _, about := range []string{contract, "gitCommit:" + candidate} {
			out, err := exec.Command(auditor, good, key, about).CombinedOutput()
			require.NoError(t, err, "%s %s: %s", name, about, out)
			require.Equal(t, receipt.PredicateType+"\ncontract sha256:"+canonjson.Digest(pack[receipt.FileContract])+
				"\ncandidate gitCommit:"+candidate+"\nverdict sha256:"+canonjson.Digest(pack[receipt.FileVerdict])+"\n", string(out))
		}
		// Another contract, another commit, another key, another statement.
		pack[receipt.FileContract][10] ^= 1
		stranger := ed25519Key(t, "x")
		pack[receipt.FileSigstore][len(pack[receipt.FileSigstore])/4] ^= 1
		for _, args := range [][]string{
			{good, key, file("other.json", pack[receipt.FileContract])},
			{good, key, "gitCommit:" + base},
			{good, file("stranger.pem", []byte(stranger.Public().PEM)), "gitCommit:" + candidate},
			{file("tampered.json", pack[receipt.FileSigstore]), key, "gitCommit:" + candidate},
		} {
			out, err := exec.Command(auditor, args...).CombinedOutput()
			require.Error(t, err, "%v: %s", args, out)
		}
	}
}

// TestCosign runs where cosign is installed, without a network: VERIFY.md's own commands and arguments.
func TestCosign(t *testing.T) {
	t.Parallel()
	cosign, err := exec.LookPath("cosign")
	if err != nil {
		t.Skip("cosign is not installed")
	}
	for name, pack := range packs(t) {
		dir := t.TempDir()
		for file, data := range pack {
			require.NoError(t, os.WriteFile(filepath.Join(dir, file), data, 0o600))
		}
		var keys receipt.KeySet
		require.NoError(t, json.Unmarshal(pack[receipt.FileKeys], &keys))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "signer.pem"), []byte(keys.Keys[len(keys.Keys)-1].PublicPEM), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "root.json"), []byte(`{"mediaType":"application/vnd.dev.sigstore.trustedroot+json;version=0.1"}`), 0o600))
		run := func(about ...string) error {
			cmd := exec.Command(cosign, append([]string{"verify-blob-attestation", "--bundle", receipt.FileSigstore, "--key", "signer.pem",
				"--insecure-ignore-tlog", "--trusted-root", "root.json", "--type", receipt.PredicateType}, about...)...)
			cmd.Dir = dir
			return cmd.Run()
		}
		require.NoError(t, run(receipt.FileContract), name)
		require.NoError(t, run("--digest", candidate, "--digestAlg", "gitCommit"), name)
		require.Error(t, run(receipt.FileKeys), name)
		require.Error(t, run("--digest", base, "--digestAlg", "gitCommit"), name)
	}
}
