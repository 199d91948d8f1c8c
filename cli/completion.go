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
	name := root.Name()
	completion.Example = `  ` + name + ` completion bash > /etc/bash_completion.d/` + name + `
  ` + name + ` completion zsh > /usr/local/share/zsh/site-functions/_` + name + `
  ` + name + ` completion fish > ~/.config/fish/completions/` + name + `.fish`
	for _, shell := range completion.Commands() {
		shell.Example = "  " + name + " completion " + shell.Name() + " --help     how that shell loads the script"
	}
}
