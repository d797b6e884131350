// Follow-ups are a function of parent, version, index and text.

package completion_test

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"countersign/contracts/completion"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func split(items ...string) completion.Refusal {
	return completion.Refusal{Kind: completion.KindScopeExceeded, Detail: "d", ProposedSplit: items}
}

func TestTitleIsCutByCodePoints(t *testing.T) {
	t.Parallel()
	for _, character := range []string{"a", "é", "数", "😀", "\u0301", "\n", " "} {
		for _, n := range []int{1, 77, 78, 79, 80} {
			item := strings.Repeat(character, n)
			require.Equal(t, item, completion.FollowUps("T", split(item))[0].Title)
		}
		for _, n := range []int{81, 100, 2000} {
			item := strings.Repeat(character, n)
			task := completion.FollowUps("T", split(item))[0]
			require.Equal(t, strings.Repeat(character, 77)+"...", task.Title)
			require.Equal(t, item, task.Goal)
		}
	}
	// Where the cut falls: nothing is trimmed, an ellipsis of its own is a text like any other.
	item := strings.Repeat("a", 76) + "  bcde"
	require.Equal(t, strings.Repeat("a", 76)+" ...", completion.FollowUps("T", split(item))[0].Title)
}

func TestOnlyAScopeSplits(t *testing.T) {
	t.Parallel()
	for _, r := range []completion.Refusal{
		{Kind: completion.KindAwaitingOperator, Detail: "d", Question: "q"},
		{Kind: completion.KindUnderspecified, Detail: "d", Question: "q", ProposedSplit: []string{"a"}},
		{Kind: completion.KindBlockedOnDependency, Detail: "d", BlockingDep: "b"},
	} {
		require.Empty(t, completion.FollowUps("T", r))
	}
}

func TestFollowUpsAreDeterministic(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := drawRefusal(t)
		parent := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "T-1", "a|b", "0123abcdef45"})).Draw(t, "parent")
		tasks := completion.FollowUps(parent, r)
		require.Len(t, tasks, len(r.ProposedSplit))

		// The same refusal read from its wire form gives the same tasks.
		data, v := completion.Normalise(r)
		require.Nil(t, v)
		again, v := completion.ParseRefusal(data)
		require.Nil(t, v)
		require.Equal(t, tasks, completion.FollowUps(parent, again))

		ids := map[string]bool{}
		for i, task := range tasks {
			require.False(t, ids[task.ID], "an id stands twice")
			ids[task.ID] = true
			sum := sha256.Sum256(fmt.Appendf(nil, "%s|worker-completion/v1|%d|%s", parent, i, r.ProposedSplit[i]))
			require.Equal(t, fmt.Sprintf("fu-%x", sum[:6]), task.ID)
			require.Equal(t, r.ProposedSplit[i], task.Goal)
			require.LessOrEqual(t, utf8.RuneCountInString(task.Title), 80)
			require.True(t, strings.HasPrefix(task.Goal, strings.TrimSuffix(task.Title, "...")))
		}
		// An item's task depends on its own place and text only.
		if n := len(tasks); n > 1 {
			require.Equal(t, tasks[:n-1], completion.FollowUps(parent, split(r.ProposedSplit[:n-1]...)))
			require.NotEqual(t, tasks[1].ID, completion.FollowUps(parent, split(r.ProposedSplit[1:]...))[0].ID)
			require.NotEqual(t, tasks[0].ID, completion.FollowUps(parent+"x", r)[0].ID)
		}
	})
}

func TestBlockedReasons(t *testing.T) {
	t.Parallel()
	require.Equal(t, "refused_awaiting_operator", completion.BlockedReason(completion.KindAwaitingOperator))
	require.Equal(t, "refused_underspecified", completion.BlockedReason(completion.KindUnderspecified))
	require.Equal(t, "refused_scope_exceeded", completion.BlockedReason(completion.KindScopeExceeded))
	require.Equal(t, "refused_blocked_on_dependency", completion.BlockedReason(completion.KindBlockedOnDependency))
	require.Empty(t, completion.BlockedReason("gave_up"))
	require.Empty(t, completion.BlockedReason(""))
}
