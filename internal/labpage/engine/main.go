//go:build js && wasm

// Command engine is the engine of an exported page of elect lab: package lab with the algorithms of this module, as
// WebAssembly. It gives JavaScript one function, electLab(call, request), for the calls of [lab.Calls]. The request is an
// object, and the answer an object as well: ok, and text, the answer as JSON.
package main

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"syscall/js"

	"github.com/elect-go/elect/algo/builtin"
	"github.com/elect-go/elect/internal/lab"
)

func main() {
	calls, build := lab.Calls(), lab.BuildFrom(builtin.Registry())
	js.Global().Set("electLab", js.FuncOf(func(_ js.Value, args []js.Value) any {
		call, known := calls[args[0].String()]
		if !known {
			return map[string]any{"ok": false, "text": string(lab.JSON(lab.Reject("the engine has no call %q", args[0].String())))}
		}
		result, err := call(context.Background(), func(request any) error {
			return decode(args[1], reflect.ValueOf(request).Elem(), "the request")
		}, build)
		return map[string]any{"ok": err == nil, "text": string(lab.Answer(result, err))}
	}))
	select {} // requests come from JavaScript
}

// decode sets a value to one of JavaScript, as [encoding/json] does, which would make the page too large. what names the
// value in an error.
func decode(from js.Value, into reflect.Value, what string) error {
	wants := func(kind js.Type) error {
		if from.Type() != kind {
			return fmt.Errorf("%s is a %v, want a %v", what, from.Type(), kind)
		}
		return nil
	}
	switch into.Kind() {
	case reflect.String:
		if err := wants(js.TypeString); err != nil {
			return err
		}
		into.SetString(from.String())
		return nil
	case reflect.Bool:
		if err := wants(js.TypeBoolean); err != nil {
			return err
		}
		into.SetBool(from.Bool())
		return nil
	case reflect.Pointer:
		if from.IsNull() {
			into.SetZero()
			return nil
		}
		into.Set(reflect.New(into.Type().Elem()))
		return decode(from, into.Elem(), what)
	case reflect.Slice:
		return decodeList(from, into, what)
	case reflect.Struct:
		return decodeStruct(from, into, what)
	}
	if err := wants(js.TypeNumber); err != nil {
		return err
	}
	switch n := from.Float(); {
	case into.CanInt() && n == float64(int64(n)):
		into.SetInt(int64(n))
	case into.CanUint() && n >= 0 && n == float64(uint64(n)):
		into.SetUint(uint64(n))
	default:
		return fmt.Errorf("%s is %v, want a value of the type %v", what, n, into.Type())
	}
	return nil
}

func decodeList(from js.Value, into reflect.Value, what string) error {
	if !from.InstanceOf(js.Global().Get("Array")) {
		return fmt.Errorf("%s is a %v, want a list", what, from.Type())
	}
	list := reflect.MakeSlice(into.Type(), from.Length(), from.Length())
	for i := range list.Len() {
		if err := decode(from.Index(i), list.Index(i), fmt.Sprintf("%s[%d]", what, i)); err != nil {
			return err
		}
	}
	into.Set(list)
	return nil
}

func decodeStruct(from js.Value, into reflect.Value, what string) error {
	if from.Type() != js.TypeObject {
		return fmt.Errorf("%s is a %v, want an object", what, from.Type())
	}
	fields := make(map[string]reflect.Value)
	for f, field := range into.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		fields[name] = field
	}
	keys := js.Global().Get("Object").Call("keys", from)
	for i := range keys.Length() {
		name := keys.Index(i).String()
		field, known := fields[name]
		if !known {
			return fmt.Errorf("%s has an unknown field %q", what, name)
		}
		if err := decode(from.Get(name), field, name); err != nil {
			return err
		}
	}
	return nil
}
