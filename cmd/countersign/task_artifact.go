// What a task declares about its artifact: the flags of it, and how it is shown.

package main

import (
	"strings"

	"countersign/contracts/artifact"
	"countersign/contracts/workflow"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// artifactFlags are pointers, so that an empty value, such as that of an unset variable, is refused and
// not taken for no declaration.
type artifactFlags struct {
	Kind          *string  `name:"artifact-kind" placeholder:"KIND" help:"What the task produces: code_diff, report, dataset, action_log or ops_result. Default: no declaration."`
	OutputPath    *string  `name:"artifact-output" placeholder:"PATH" help:"Where it writes that, relative to its workdir."`
	Criterion     []string `name:"artifact-criterion" sep:"none" placeholder:"TYPE:VALUE" help:"What the artifact must satisfy; may be repeated."`
	CriterionFile []string `name:"artifact-criterion-file" sep:"none" placeholder:"TYPE:PATH" help:"A criterion whose value is in a file; may be repeated."`
}

// declaration is the declaration of the flags, nil when none was given.
func (f artifactFlags) declaration(s *session) (jsontext.Value, error) {
	if f.Kind == nil && f.OutputPath == nil && len(f.Criterion)+len(f.CriterionFile) == 0 {
		return nil, nil
	}
	criteria := f.Criterion
	for _, flag := range f.CriterionFile {
		// A flag without a colon is left to the parser, which names it.
		if kind, path, ok := strings.Cut(flag, ":"); ok {
			value, err := s.readInput(path)
			if err != nil {
				return nil, err
			}
			flag = kind + ":" + string(value)
		}
		criteria = append(criteria, flag)
	}
	spec, err := artifact.ParseFlags(artifact.Flags{Kind: deref(f.Kind), OutputPath: deref(f.OutputPath), Criteria: criteria})
	if err != nil {
		return nil, err
	}
	return json.Marshal(spec)
}

// artifactOf is the kind a task declares, "-" for none.
func artifactOf(t workflow.Task) string {
	if t.ArtifactSpec == nil {
		return "-"
	}
	spec, err := artifact.ParseSpec(t.ArtifactSpec)
	if err != nil {
		return "?"
	}
	return string(spec.Kind)
}

// declared are the name and value pairs of a task's declaration. One that this program does not know is
// shown as it is, for a server may be newer than its client.
func declared(t workflow.Task) []string {
	if t.ArtifactSpec == nil {
		return nil
	}
	spec, err := artifact.ParseSpec(t.ArtifactSpec)
	if err != nil {
		return []string{"artifact", string(t.ArtifactSpec)}
	}
	pairs := []string{"artifact", string(spec.Kind), "output path", spec.OutputPath}
	for _, c := range spec.Criteria {
		pairs = append(pairs, "criterion", string(c.Type)+":"+c.Value)
	}
	return pairs
}
