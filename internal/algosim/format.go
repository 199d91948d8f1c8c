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

// MessageWords formats a message as in scenarios: its kind and its fields that are not zero, as in
// "coordinator epoch=2 leader=n3". A periodic message ends with "again".
//
//	true, 7, -1          bool and integers
//	n3                   a node; none for zero, or a UUID if it has no number
//	n3@2                 an algo.Leader: n3 in epoch 2
//	plain, "a, b"        a string, quoted if needed
//	[1,2]                a slice
//	{round=1,from=n3}    a struct
func MessageWords(m algo.Message) []string {
	m, isPeriodic := algo.Unwrap(m)
	words := append([]string{m.Kind()}, formatFields(reflect.ValueOf(m))...)
	if isPeriodic {
		words = append(words, "again")
	}
	return words
}

// formatFields formats the fields of a struct that are not zero. Other values have no fields.
func formatFields(v reflect.Value) (all []string) {
	if v.Kind() != reflect.Struct {
		return nil
	}
	for f, field := range v.Fields() {
		if f.IsExported() && !field.IsZero() {
			all = append(all, strings.ToLower(f.Name)+"="+formatValue(field))
		}
	}
	return all
}

func formatValue(v reflect.Value) string {
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
		return "{" + strings.Join(formatFields(v), ",") + "}"
	case reflect.Slice:
		elems := make([]string, v.Len())
		for i := range elems {
			elems[i] = formatValue(v.Index(i))
		}
		return "[" + strings.Join(elems, ",") + "]"
	}
	if v.CanInt() || v.CanUint() {
		return fmt.Sprintf("%d", v.Interface()) // even if the type has a String method
	}
	return fmt.Sprint(v)
}

// Sprintf is fmt.Sprintf with the names of nodes.
func Sprintf(format string, args ...any) string {
	shown := slices.Clone(args)
	for i, arg := range args {
		switch x := arg.(type) {
		case algo.NodeID, algo.Leader:
			shown[i] = formatValue(reflect.ValueOf(x))
		}
	}
	return fmt.Sprintf(format, shown...)
}

// FormatMessage formats a message as one text.
func FormatMessage(m algo.Message) string { return strings.Join(MessageWords(m), " ") }

// NewTraceEvent returns the trace event for e, without time and node.
func NewTraceEvent(e driver.Event) trace.Event {
	t := trace.Event{Kind: trace.Kind(e.Kind.String()), Peer: e.Peer, Message: e.Message, Timer: e.Timer, Epoch: e.Saved.Epoch}
	switch e.Kind {
	case driver.EventReceive:
		t.Kind = trace.Deliver
	case driver.EventReconfigure:
		t.Kind, t.ConfigVersion = trace.ConfigChanged, e.View.Version()
	case driver.EventCampaign:
		t.Kind, t.Format = trace.Note, "starts a campaign"
	}
	return t
}

// DescribeEvent describes an event in words.
func DescribeEvent(e trace.Event) string { return e.Words(Name, FormatMessage) }
