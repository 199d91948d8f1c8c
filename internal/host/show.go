package host

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/elect-go/elect/algo"
)

// Show writes a message as its type with its fields in their order: Election(7, n2). A
// bool shows as its name where it is true, the stamp of a view where a leader has made it.
// A repeat is followed by "again".
func Show(m algo.Message) string {
	m, repeat := algo.Open(m)
	v := reflect.ValueOf(m)
	var fields []string
	for i := range v.NumField() {
		name, field := v.Type().Field(i).Name, v.Field(i)
		stamp, ofView := field.Interface().(algo.Stamp)
		switch {
		case ofView && stamp.Epoch == 0:
		case field.Kind() != reflect.Bool:
			fields = append(fields, fmt.Sprint(show(field.Interface())))
		case field.Bool():
			fields = append(fields, strings.ToLower(name))
		}
	}
	text := v.Type().Name() + "(" + strings.Join(fields, ", ") + ")"
	if repeat {
		text += " again"
	}
	return text
}

// show returns x as it reads in a story.
func show(x any) any {
	switch x := x.(type) {
	case algo.NodeID:
		return Name(x)
	case algo.Leader:
		return fmt.Sprintf("%s in %d", Name(x.ID), x.Epoch)
	case algo.Stamp:
		return fmt.Sprintf("view %d.%d", x.Epoch, x.Number)
	case algo.Message:
		return Show(x)
	default:
		return x
	}
}

// Happening writes an event as what its node does.
func Happening(e algo.Event) string {
	switch e.Kind {
	case algo.EventStart:
		return fmt.Sprintf("starts with epoch %d", e.Saved.Epoch)
	case algo.EventReceive:
		return "hears " + Show(e.Message) + " from " + Name(e.Peer)
	case algo.EventExpire:
		return fmt.Sprintf("sees its timer %q end", e.Timer)
	case algo.EventSuspect, algo.EventTrust:
		return e.Kind.String() + "s " + Name(e.Peer)
	case algo.EventReconfigure:
		return fmt.Sprintf("gets view %d", e.View.Number())
	}
	return "campaigns"
}
