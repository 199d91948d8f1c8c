//go:build js && wasm

// Command module is the WebAssembly module of an exported page of elect lab: package lab with the algorithms of elect.
// It gives JavaScript one function, electLab(call, request), for the calls of [lab.Calls]. The request is a
// text, JSON. The answer is an object: ok, and text, which is JSON as well.
package main

import (
	"context"
	"fmt"
	"syscall/js"

	"github.com/elect-go/elect/algo/builtin"
	"github.com/elect-go/elect/internal/lab"
)

func main() {
	calls, build := lab.Calls(), lab.BuildFrom(builtin.Registry())
	js.Global().Set("electLab", js.FuncOf(func(_ js.Value, args []js.Value) any {
		var result any
		name := args[0].String()
		err := fmt.Errorf("the module has no call %q", name)
		if call, known := calls[name]; known {
			result, err = call(context.Background(), []byte(args[1].String()), build)
		}
		return map[string]any{"ok": err == nil, "text": string(lab.Answer(result, err))}
	}))
	select {} // requests come from JavaScript
}
