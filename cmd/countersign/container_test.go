// The image and the compose file hold what they promise, as far as that shows without an engine.

package main

import (
	"bytes"
	"debug/elf"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

const repository = "../.."

type composeFile struct {
	Services map[string]composeService `yaml:"services"`
}

type composeService struct {
	Image       string            `yaml:"image"`
	Command     []string          `yaml:"command"`
	Environment map[string]string `yaml:"environment"`
	Healthcheck *struct {
		Test []string `yaml:"test"`
	} `yaml:"healthcheck"`
	DependsOn map[string]any `yaml:"depends_on"`
	ReadOnly  bool           `yaml:"read_only"`
}

// TestComposeFile holds the file to the specification's schema, and each of its commands and
// variables to this program's own grammar.
func TestComposeFile(t *testing.T) {
	data, err := os.ReadFile(repository + "/docker-compose.yml")
	require.NoError(t, err)
	validateCompose(t, data)

	var file composeFile
	require.NoError(t, yaml.Unmarshal([]byte(withDefaults(string(data))), &file))
	ours := map[string]string{}
	for name, s := range file.Services {
		if s.Image != "countersign" {
			require.NotContains(t, s.Image, "latest", name)
			continue
		}
		require.True(t, s.ReadOnly, name)
		ours[s.Command[0]] = name
		checkCommandLine(t, s.Command, s.Environment)
		if s.Healthcheck != nil {
			require.Equal(t, []string{"CMD", "/countersign"}, s.Healthcheck.Test[:2], name)
			checkCommandLine(t, s.Healthcheck.Test[2:], nil)
		}
		for other := range s.DependsOn {
			require.Contains(t, file.Services, other)
		}
	}
	require.Equal(t, map[string]string{"migrate": "migrate", "api": "api", "worker": "worker"}, ours)
}

func validateCompose(t *testing.T, data []byte) {
	t.Helper()
	schemaFile, err := os.Open(repository + "/testdata/compose-spec.json")
	require.NoError(t, err)
	defer schemaFile.Close()
	schema, err := jsonschema.UnmarshalJSON(schemaFile)
	require.NoError(t, err)
	compiler := jsonschema.NewCompiler()
	require.NoError(t, compiler.AddResource("compose-spec.json", schema))
	compiled, err := compiler.Compile("compose-spec.json")
	require.NoError(t, err)

	// By way of JSON, whose types are the schema's.
	var document any
	require.NoError(t, yaml.Unmarshal(data, &document))
	asJSON, err := json.Marshal(document)
	require.NoError(t, err)
	document, err = jsonschema.UnmarshalJSON(bytes.NewReader(asJSON))
	require.NoError(t, err)
	require.NoError(t, compiled.Validate(document))
}

var variable = regexp.MustCompile(`\$\{[A-Z_]+:-([^}]*)\}`)

// withDefaults fills in what an empty environment gives; a variable without a default would be
// missing there, and is left for the assertion to find.
func withDefaults(text string) string { return variable.ReplaceAllString(text, "$1") }

// checkCommandLine parses the arguments under exactly that environment, and demands that each of its
// variables is one the command reads.
func checkCommandLine(t *testing.T, args []string, environment map[string]string) {
	t.Helper()
	for name, value := range environment {
		require.NotContains(t, value, "${", name)
		t.Setenv(name, value)
	}
	var cli grammar
	parser, err := newParser(&cli, os.Stdout, os.Stderr, func(int) {})
	require.NoError(t, err)
	parsed, err := parser.Parse(arrange(parser.Model, args))
	require.NoError(t, err, "%v", args)
	known := map[string]bool{}
	for _, group := range parsed.Selected().AllFlags(false) {
		for _, f := range group {
			for _, name := range f.Envs {
				known[name] = true
			}
		}
	}
	for name := range environment {
		require.True(t, known[name], "%s is no variable of %v", name, args)
	}
}

// TestDockerfile builds by the file's own line, and looks at what comes out and at what it runs as.
func TestDockerfile(t *testing.T) {
	data, err := os.ReadFile(repository + "/Dockerfile")
	require.NoError(t, err)
	lines := strings.Split(string(data), "\n")
	require.Contains(t, lines, "FROM scratch")
	require.Contains(t, lines, "USER 65532:65532")

	const prefix, out = "RUN CGO_ENABLED=0 go build ", "/out/countersign"
	var build string
	for _, line := range lines {
		if after, ok := strings.CutPrefix(line, prefix); ok {
			build = after
		}
	}
	require.Contains(t, build, out)
	binary := filepath.Join(t.TempDir(), "countersign")
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "CGO_ENABLED=0 go build "+strings.ReplaceAll(build, out, binary))
	cmd.Dir = repository
	cmd.Env = append(os.Environ(), "VERSION=v1.2.3")
	output, err := cmd.CombinedOutput()
	require.NoError(t, err, string(output))

	output, err = exec.CommandContext(t.Context(), binary, "version").Output()
	require.NoError(t, err)
	require.Equal(t, "countersign v1.2.3\n", string(output))
	program, err := elf.Open(binary)
	if err != nil {
		return // not an ELF system
	}
	defer program.Close()
	for _, p := range program.Progs {
		require.NotEqual(t, elf.PT_INTERP, p.Type, "the program needs a dynamic linker, which the image has not")
	}
}
