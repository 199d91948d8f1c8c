package command

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// again is a command with the flags that were given, as a shell reads it, but those left
// out.
func again(command string, flags *pflag.FlagSet, leftOut ...string) string {
	words := []string{"elect", command}
	flags.Visit(func(flag *pflag.Flag) {
		list, ok := flag.Value.(pflag.SliceValue)
		switch {
		case slices.Contains(leftOut, flag.Name):
		case flag.Value.Type() == "bool":
			words = append(words, "--"+flag.Name+strings.TrimPrefix("="+flag.Value.String(), "=true"))
		case flag.Value.Type() == "stringArray": // each may have commas
			for _, value := range list.GetSlice() {
				words = append(words, "--"+flag.Name, quoted(value))
			}
		case ok:
			words = append(words, "--"+flag.Name, quoted(strings.Join(list.GetSlice(), ",")))
		default:
			words = append(words, "--"+flag.Name, quoted(flag.Value.String()))
		}
	})
	return strings.Join(words, " ")
}

// quoted is a word as a shell reads it.
func quoted(word string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=:,~%+@"
	if word != "" && strings.Trim(word, plain) == "" && word[0] != '~' {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
