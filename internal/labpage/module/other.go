//go:build !js

package main

import (
	"fmt"
	"os"
)

// main reports that this command is built for a browser only.
func main() {
	fmt.Fprintln(os.Stderr, "module is a part of the page that elect lab --export writes: build it with GOOS=js GOARCH=wasm")
	os.Exit(2)
}
