// What an agent's process finds in its environment: an allow list, never the bridge's own.

package bridge

import (
	"os"
	"path/filepath"
)

// markerVariable marks every process of an attempt, so that a bridge that died can find them again.
const markerVariable = "COUNTERSIGN_ATTEMPT"

// passedOn are the variables of the bridge that an agent may see.
var passedOn = []string{"PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "USER", "LOGNAME"}

// agentEnvironment makes an agent's environment. Home and temporary directory are the attempt's own,
// and git in the agent's hands takes no configuration of the user's and runs no hook or monitor.
func agentEnvironment(scratch, marker string, more []string) []string {
	env := []string{
		markerVariable + "=" + marker,
		"HOME=" + filepath.Join(scratch, "home"),
		"TMPDIR=" + filepath.Join(scratch, "tmp"),
		"GIT_CONFIG_NOSYSTEM=1",
		"GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_TERMINAL_PROMPT=0",
		"GIT_EDITOR=true",
		"GIT_CONFIG_COUNT=4",
		"GIT_CONFIG_KEY_0=core.hooksPath", "GIT_CONFIG_VALUE_0=/dev/null",
		"GIT_CONFIG_KEY_1=gc.auto", "GIT_CONFIG_VALUE_1=0",
		"GIT_CONFIG_KEY_2=commit.gpgSign", "GIT_CONFIG_VALUE_2=false",
		"GIT_CONFIG_KEY_3=core.fsmonitor", "GIT_CONFIG_VALUE_3=false",
	}
	for _, name := range passedOn {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return append(env, more...)
}
