// Validation of the wire types: validator tags of our own, and errors with a JSONPath.

package workflow

import (
	"errors"
	"fmt"
	"path"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"countersign/contracts"
	"countersign/contracts/canonjson"

	"github.com/go-playground/validator/v10"
)

// Decode reads a strict JSON document into the closed wire type v points at and validates it. The
// error is a *contracts.Error with the path to the first fault.
func Decode(data []byte, v any) error {
	if err := canonjson.Decode(data, v); err != nil {
		return err
	}
	return Validate(v)
}

// Validate checks a wire type against its tags, then against the rules that span fields.
func Validate(v any) error {
	if err := rules().Struct(v); err != nil {
		if faults, ok := errors.AsType[validator.ValidationErrors](err); ok && len(faults) > 0 {
			return describe(faults[0])
		}
		return fmt.Errorf("validate %T: %w", v, err)
	}
	if c, ok := v.(interface{ Check() error }); ok {
		return c.Check()
	}
	return nil
}

var (
	key128      = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`)
	criterionID = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)
	username    = regexp.MustCompile(`^[a-z0-9._-]{1,64}$`)
	sha40       = regexp.MustCompile(`^[0-9a-f]{40}$`)
	sha64       = regexp.MustCompile(`^[0-9a-f]{64}$`)
	contentHash = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
)

// rules is the one validator; building it is costly and it is safe for concurrent use.
var rules = sync.OnceValue(func() *validator.Validate {
	v := validator.New(validator.WithRequiredStructEnabled())
	v.RegisterTagNameFunc(func(f reflect.StructField) string {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if options == "inline" {
			return inlined
		}
		return name
	})
	v.RegisterCustomTypeFunc(func(f reflect.Value) any { return f.Interface().(Version).literal }, Version{})
	text := func(name string, good func(string) bool) {
		err := v.RegisterValidation(name, func(fl validator.FieldLevel) bool { return good(fl.Field().String()) })
		if err != nil {
			panic(err) // a misspelt tag name is a programming error, found by the first test
		}
	}
	text("text", func(s string) bool { return !strings.ContainsRune(s, 0) })
	text("notblank", func(s string) bool { return !Blank(s) })
	text("key128", key128.MatchString)
	text("criterionid", criterionID.MatchString)
	text("username", username.MatchString)
	text("sha40", func(s string) bool { return sha40.MatchString(s) && strings.Trim(s, "0") != "" })
	text("sha64", sha64.MatchString)
	text("contenthash", contentHash.MatchString)
	text("abspath", func(s string) bool { return path.IsAbs(s) && path.Clean(s) == s && printable(s) })
	text("relpath", RelativePath)
	text("branch", BranchName)
	text("version", validVersion)
	return v
})

// inlined marks an embedded struct whose fields belong to the object around it.
const inlined = "<inline>"

// describe turns the validator's fault into a path and a sentence that says what would be right.
func describe(f validator.FieldError) *contracts.Error {
	_, at, _ := strings.Cut(f.Namespace(), ".")
	at = "$." + strings.ReplaceAll(at, inlined+".", "")
	limit := f.Param()
	unit := "characters"
	if f.Kind() == reflect.Slice {
		unit = "items"
	}
	number := f.Kind() >= reflect.Int && f.Kind() <= reflect.Float64
	var want string
	switch f.Tag() {
	case "required":
		want = "is required"
	case "min":
		if want = "must be at least " + limit; !number {
			want = "must have at least " + limit + " " + unit
		}
	case "max":
		if want = "must be at most " + limit; !number {
			want = "must have at most " + limit + " " + unit
		}
	case "unique":
		want = "must not name anything twice"
	case "oneof":
		want = "must be one of " + strings.ReplaceAll(limit, " ", ", ")
	case "text":
		want = "must not hold U+0000"
	case "notblank":
		want = "must not be blank"
	case "key128":
		want = "must match [A-Za-z0-9_.-]{1,128}"
	case "criterionid":
		want = "must match [A-Za-z0-9_.-]{1,64}"
	case "username":
		want = "must match [a-z0-9._-]{1,64}"
	case "sha40":
		want = "must be 40 lowercase hex characters, not all zero"
	case "sha64":
		want = "must be 64 lowercase hex characters"
	case "contenthash":
		want = "must be sha256: and 64 lowercase hex characters"
	case "abspath":
		want = "must be an absolute, clean path"
	case "relpath":
		want = "must be a clean, repository-relative path"
	case "branch":
		want = "must be a valid Git branch name without a leading -"
	case "version":
		want = "must be a string of 1 to 64 characters or a positive integer"
	default:
		want = "does not satisfy " + f.Tag()
	}
	return contracts.Invalid(at, "%s", want)
}

// Blank reports whether s holds nothing but white space (Unicode White_Space or U+001C–U+001F).
func Blank(s string) bool {
	return strings.TrimFunc(s, func(r rune) bool { return unicode.IsSpace(r) || (r >= 0x1c && r <= 0x1f) }) == ""
}

func printable(s string) bool { return strings.IndexFunc(s, unicode.IsControl) < 0 }

// RelativePath reports whether s is a clean path below a repository's root: no leading slash, no
// "." or ".." segment, no empty segment, no backslash, no control character, nothing in .git.
func RelativePath(s string) bool {
	if s == "" || s == "." || path.IsAbs(s) || path.Clean(s) != s || strings.Contains(s, `\`) || !printable(s) {
		return false
	}
	first, _, _ := strings.Cut(s, "/")
	return first != ".." && !strings.EqualFold(first, ".git")
}

// BranchName reports whether s is a branch name by the rules of git-check-ref-format(1).
func BranchName(s string) bool {
	if s == "" || s == "@" || s == "HEAD" || strings.HasPrefix(s, "-") || strings.HasSuffix(s, ".") || !printable(s) {
		return false
	}
	if strings.ContainsAny(s, " ~^:?*[\\") || strings.Contains(s, "..") || strings.Contains(s, "@{") {
		return false
	}
	for part := range strings.SplitSeq(s, "/") {
		if part == "" || strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	return true
}

func validVersion(literal string) bool {
	if strings.HasPrefix(literal, `"`) {
		var s string
		if canonjson.Decode([]byte(literal), &s) != nil {
			return false
		}
		return !Blank(s) && len([]rune(s)) <= 64 && !strings.ContainsRune(s, 0)
	}
	n, err := strconv.ParseInt(literal, 10, 64)
	return err == nil && n > 0
}
