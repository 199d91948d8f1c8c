package cli

import "github.com/spf13/cobra"

// addCompletion adds cobra's command completion, and the example that each command here shows. It is called once the
// output of root is set, because the command keeps that output.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	completion, _, err := root.Find([]string{"completion"})
	if err != nil {
		panic(err) // cobra adds the command unless it is switched off
	}
	completion.Example = `  elect completion bash > /etc/bash_completion.d/elect
  elect completion zsh > /usr/local/share/zsh/site-functions/_elect
  elect completion fish > ~/.config/fish/completions/elect.fish`
	for _, shell := range completion.Commands() {
		shell.Example = "  elect completion " + shell.Name() + " --help     how that shell loads the script"
	}
}
