package algosim

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/driver"
	"github.com/elect-go/elect/internal/scenario"
	"github.com/elect-go/elect/trace"
)

// Words writes a message as scenarios do: by its kind and those of its fields that are not
// zero, as in "coordinator epoch=2 leader=n3". A repeat is followed by "again".
//
//	true, 7, -1          bool and whole numbers
//	n3                   a node; nobody, or a UUID where it has no number
//	n3@2                 an algo.Leader: n3 in epoch 2
//	plain, "a, b"        a text, quoted where that is needed
//	[1,2]                a slice
//	{round=1,from=n3}    a struct
func MessageWords(m algo.Message) []string {
	m, repeat := algo.Open(m)
	words := append([]string{m.Kind()}, fields(reflect.ValueOf(m))...)
	if repeat {
		words = append(words, "again")
	}
	return words
}

// fields writes those fields of a struct that are not zero; what is no struct has none.
func fields(v reflect.Value) (all []string) {
	if v.Kind() != reflect.Struct {
		return nil
	}
	for f, field := range v.Fields() {
		if f.IsExported() && !field.IsZero() {
			all = append(all, strings.ToLower(f.Name)+"="+value(field))
		}
	}
	return all
}

func value(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case algo.NodeID:
		return Name(x)
	case algo.Leader:
		return fmt.Sprintf("%s@%d", Name(x.ID), x.Epoch)
	}
	switch v.Kind() {
	case reflect.String:
		return scenario.Quote(v.String())
	case reflect.Struct:
		return "{" + strings.Join(fields(v), ",") + "}"
	case reflect.Slice:
		elems := make([]string, v.Len())
		for i := range elems {
			elems[i] = value(v.Index(i))
		}
		return "[" + strings.Join(elems, ",") + "]"
	}
	if v.CanInt() || v.CanUint() {
		return fmt.Sprintf("%d", v.Interface()) // also where the type has a text
	}
	return fmt.Sprint(v)
}

// Sprintf is that of package fmt, with nodes by name.
func Sprintf(format string, args ...any) string {
	shown := slices.Clone(args)
	for i, arg := range args {
		switch x := arg.(type) {
		case algo.NodeID, algo.Leader:
			shown[i] = value(reflect.ValueOf(x))
		}
	}
	return fmt.Sprintf(format, shown...)
}

// Show writes a message as one text.
func FormatMessage(m algo.Message) string { return strings.Join(MessageWords(m), " ") }

// Traced returns an event as a trace has it, without its time and its node.
func NewTraceEvent(e driver.Event) trace.Event {
	t := trace.Event{Kind: trace.Kind(e.Kind.String()), Peer: e.Peer, Message: e.Message, Timer: e.Timer, Epoch: e.Saved.Epoch}
	switch e.Kind {
	case driver.EventReceive:
		t.Kind = trace.Deliver
	case driver.EventReconfigure:
		t.Kind, t.Number = trace.View, e.View.Number()
	case driver.EventCampaign:
		t.Kind, t.Format = trace.Note, "is called to campaign"
	}
	return t
}

// Say writes an event in words.
func DescribeEvent(e trace.Event) string { return e.Words(Name, FormatMessage) }
