package cli

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// rerunCommand returns the command line with the flags that were set, except omitted, quoted for a shell.
func rerunCommand(command string, flags *pflag.FlagSet, omitted ...string) string {
	words := []string{"elect", command}
	flags.Visit(func(flag *pflag.Flag) {
		list, ok := flag.Value.(pflag.SliceValue)
		switch {
		case slices.Contains(omitted, flag.Name):
		case flag.Value.Type() == "bool":
			words = append(words, "--"+flag.Name+strings.TrimPrefix("="+flag.Value.String(), "=true"))
		case flag.Value.Type() == "stringArray": // each element may have commas
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

// quoted returns word, in quotes if a shell would change it.
func quoted(word string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=:,~%+@"
	if word != "" && strings.Trim(word, plain) == "" && word[0] != '~' {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
