package lesson_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/lesson"
)

func TestTextForTerminal(t *testing.T) {
	section := func(text string) string {
		l := lesson.Read("# Title\n\n## One\n\n" + text + "\n")
		return l.Section("One")
	}
	require.Equal(t, "a bold link", section("a **bold** [link](x.md)"))
	require.Equal(t, "- a list\n- of two", section("- a list\n- of two"))
	require.Equal(t, "| a | b |\n    code", section("| a | b |\n    code"))
	require.Equal(t, "before\nx := 1\nafter", section("before\n```go\nx := 1\n```\n<details>\n```mermaid\nhidden\n```\n</details>\nafter"))
	long := section("1. " + strings.Repeat("word ", 20))
	require.Equal(t, "1. "+strings.TrimSpace(strings.Repeat("word ", 15))+"\n   word word word word word", long)
}

func TestAnswerIsRight(t *testing.T) {
	l := lesson.Read("# Title\n\n## Question\n\nHow many?\n\n<details>\n<summary>Answer</summary>\n\n**19 messages.** Because.\n\n</details>\n")
	require.Equal(t, "How many?", l.Question())
	require.Equal(t, "19 messages. Because.", l.Answer())
	require.Equal(t, "19 messages", l.Short())
	for answer, right := range map[string]bool{"19": true, "It is 19!": true, "18": false, "": false, "messages": false, "190": false} {
		require.Equal(t, right, l.Right(answer), answer)
	}
}
