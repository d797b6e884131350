// The temporal program: found, or built once from a module kept in this one.

//go:build unix

package localstack

import (
	"context"
	_ "embed" // for the build's go.mod and go.sum
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

// TemporalVersion is the version of the temporal program that is built when
// none is found.
const TemporalVersion = "1.5.1"

const (
	temporalPackage = "github.com/temporalio/cli/cmd/temporal"
	versionVariable = "github.com/temporalio/cli/temporalcli.Version"
	// leastMajor and leastMinor are the oldest version that will do.
	leastMajor, leastMinor = 1, 5
	progressEvery          = 20 * time.Second
	// buildQuit is the signal at which the go program removes its work.
	buildQuit = syscall.SIGINT
)

// Named so because files of another module cannot be embedded.
var (
	//go:embed temporal.mod
	temporalMod []byte
	//go:embed temporal.sum
	temporalSum []byte
)

// FindTemporal returns the path of a temporal program of at least version 1.5:
// the one named by COUNTERSIGN_TEMPORAL, else the first on PATH, else the one
// built for this user before, else it builds one, which needs the go program
// and takes minutes. Processes that need it at once share one build.
func FindTemporal(ctx context.Context, log *slog.Logger) (string, error) {
	if name := os.Getenv("COUNTERSIGN_TEMPORAL"); name != "" {
		path, err := program(name)
		if err == nil {
			err = usableTemporal(ctx, path)
		}
		if err != nil {
			return "", fmt.Errorf("COUNTERSIGN_TEMPORAL: %w", err)
		}
		return path, nil
	}
	if path, err := program("temporal"); err == nil {
		err := usableTemporal(ctx, path)
		if err == nil {
			return path, nil
		}
		log.Warn("the temporal program on PATH is passed over", "error", err)
	}
	cache, err := cacheDir()
	if err != nil {
		return "", fmt.Errorf("find Temporal: %w", err)
	}
	name := fmt.Sprintf("temporal-%s-%s-%s", TemporalVersion, runtime.GOOS, runtime.GOARCH)
	path := filepath.Join(cache.dir, name, "temporal")
	if usableTemporal(ctx, path) == nil {
		return path, nil
	}
	if err := cache.buildTemporal(ctx, "go", path, log); err != nil {
		return "", fmt.Errorf("build Temporal: %w", err)
	}
	return path, nil
}

// program is the absolute path of a program named as in a shell.
func program(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", err
	}
	return filepath.Abs(path)
}

var versionLine = regexp.MustCompile(`^temporal version (\d+)\.(\d+)\.`)

// usableTemporal runs the program to learn its version.
func usableTemporal(ctx context.Context, path string) error {
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return fmt.Errorf("%s --version: %w", path, err)
	}
	m := versionLine.FindSubmatch(out)
	if m == nil {
		return fmt.Errorf("%s says no version of Temporal: %.100q", path, out)
	}
	major, _ := strconv.Atoi(string(m[1]))
	minor, _ := strconv.Atoi(string(m[2]))
	if major < leastMajor || major == leastMajor && minor < leastMinor {
		return fmt.Errorf("%s is version %d.%d, older than %d.%d", path, major, minor, leastMajor, leastMinor)
	}
	return nil
}

// cache is where built programs are kept.
type cache struct {
	dir string
	// homeless says that there is no home to keep the go program's own caches
	// in either.
	homeless bool
}

// cacheDir is the user's own cache directory, or one below the system's
// temporary directory that nobody else can have prepared.
func cacheDir() (cache, error) {
	if base, err := os.UserCacheDir(); err == nil {
		dir := filepath.Join(base, "countersign")
		if os.MkdirAll(dir, 0o700) == nil && writable(dir) {
			return cache{dir: dir}, nil
		}
	}
	dir, err := privateTempDir("countersign-cache")
	if err != nil {
		return cache{}, err
	}
	return cache{dir: dir, homeless: true}, nil
}

func writable(dir string) bool {
	f, err := os.CreateTemp(dir, "probe-")
	if err != nil {
		return false
	}
	f.Close()
	return os.Remove(f.Name()) == nil
}

// privateTempDir is a directory of this user's, with this name, below the
// system's temporary directory; one that somebody else made is refused.
func privateTempDir(name string) (string, error) {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("%s-%d", name, os.Geteuid()))
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return "", err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return "", err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || int(st.Uid) != os.Geteuid() || info.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("%s is not a private directory of this user", dir)
	}
	return dir, nil
}

// buildTemporal puts the program at path, unless another process just did.
func (c cache) buildTemporal(ctx context.Context, goProgram, path string, log *slog.Logger) error {
	goProgram, err := program(goProgram)
	if err != nil {
		return fmt.Errorf("no temporal program of version %d.%d or newer was found (https://docs.temporal.io/cli), "+
			"and the go program to build one is missing (https://go.dev/dl): %w", leastMajor, leastMinor, err)
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	begun := time.Now()
	lock, err := awaitLock(ctx, filepath.Join(dir, "build.lock"), func() {
		log.Info("waiting for another process that builds Temporal", "seconds", int(time.Since(begun).Seconds()))
	})
	if err != nil {
		return err
	}
	defer lock.Close()
	if usableTemporal(ctx, path) == nil {
		return nil
	}
	// The lock is held, so these are of builds that were killed.
	leftovers, err := filepath.Glob(filepath.Join(dir, "build-*"))
	if err != nil {
		return err
	}
	for _, l := range leftovers {
		if err := os.RemoveAll(l); err != nil {
			return err
		}
	}
	work, err := os.MkdirTemp(dir, "build-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	built := filepath.Join(work, "temporal")
	if err := c.goBuild(ctx, goProgram, work, built, log); err != nil {
		return err
	}
	if err := usableTemporal(ctx, built); err != nil {
		return err
	}
	return os.Rename(built, path)
}

// awaitLock takes the lock, however long its holder needs; waiting is called
// now and then.
func awaitLock(ctx context.Context, path string, waiting func()) (*os.File, error) {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	var said time.Time
	for {
		f, err := tryLock(path)
		if f != nil || err != nil {
			return f, err
		}
		if time.Since(said) > progressEvery {
			waiting()
			said = time.Now()
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-tick.C:
		}
	}
}

func (c cache) goBuild(ctx context.Context, goProgram, work, out string, log *slog.Logger) error {
	for name, data := range map[string][]byte{"go.mod": temporalMod, "go.sum": temporalSum} {
		if err := os.WriteFile(filepath.Join(work, name), data, 0o600); err != nil {
			return err
		}
	}
	env := append(os.Environ(),
		"GOTOOLCHAIN=local", "GOWORK=off", "GO111MODULE=on", "GOFLAGS=-mod=readonly", "GOOS=", "GOARCH=",
		// Its database driver is Go throughout, so no C compiler is needed.
		"CGO_ENABLED=0",
	)
	if c.homeless {
		// Removed with the rest of the work: a gigabyte of somebody's /tmp.
		env = append(env, "GOPATH="+filepath.Join(work, "gopath"), "GOCACHE="+filepath.Join(work, "gocache"),
			"GOMODCACHE=", "GOFLAGS=-mod=readonly -modcacherw")
	}
	log.Info("building Temporal, which takes a few minutes once", "version", TemporalVersion, "for", filepath.Dir(filepath.Dir(out)))
	child, err := startChild(childSpec{
		name: "go",
		path: goProgram,
		args: []string{"build", "-trimpath", "-buildvcs=false",
			"-ldflags", "-s -w -X " + versionVariable + "=" + TemporalVersion, "-o", out, temporalPackage},
		env:         env,
		dir:         work,
		logPath:     filepath.Join(work, "build.log"),
		deathSignal: buildQuit,
	})
	if err != nil {
		return err
	}
	begun := time.Now()
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			log.Info("still building Temporal", "seconds", int(time.Since(begun).Seconds()))
		case <-child.done:
			return child.wait(ctx, buildQuit)
		case <-ctx.Done():
			return child.wait(ctx, buildQuit)
		}
	}
}
