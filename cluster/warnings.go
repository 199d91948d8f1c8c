package cluster

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/elect-go/elect/internal/untrusted"
)

// Warning is something that an operator should mend. The node has logged it, too.
type Warning struct {
	Text  string    `json:"text"`
	At    time.Time `json:"at"`    // the last time
	Count uint64    `json:"count"` // how often, since no warning of this kind was in the status
}

const (
	maxWarnings    = 16
	maxWarningText = 256              // bytes
	warningAge     = 10 * time.Minute // after which a warning leaves the status
)

// warnings are those of the last ten minutes, the latest of each subject.
type warnings struct {
	mu   sync.Mutex
	list []subjectWarning
}

type subjectWarning struct {
	subject string
	Warning
}

// put replaces the warning of a subject. If there are too many, the oldest is forgotten.
func (w *warnings) put(now time.Time, subject, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.expire(now)
	count := uint64(1)
	if i := slices.IndexFunc(w.list, func(k subjectWarning) bool { return k.subject == subject }); i >= 0 {
		count += w.list[i].Count
		w.list = slices.Delete(w.list, i, i+1)
	}
	w.list = append(w.list, subjectWarning{subject, Warning{Text: text, At: now, Count: count}})
	w.list = w.list[max(0, len(w.list)-maxWarnings):]
}

func (w *warnings) expire(now time.Time) {
	w.list = slices.DeleteFunc(w.list, func(k subjectWarning) bool { return now.Sub(k.At) > warningAge })
}

// latest returns the warnings, the last one first.
func (w *warnings) latest(now time.Time) (all []Warning) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.expire(now)
	for _, k := range slices.Backward(w.list) {
		all = append(all, k.Warning)
	}
	return all
}

// warn logs a warning and keeps it for the status, with the arguments of [slog.Logger.Warn]. Warnings with one text
// and one subject replace each other; an empty subject is this node.
func (n *Node) warn(subject, text string, args ...any) {
	n.limitedLog.Warn(text, args...)
	var details []string
	for i := 0; i+1 < len(args); i += 2 {
		details = append(details, fmt.Sprintf("%v=%v", args[i], args[i+1]))
	}
	shown := untrusted.Printable(text + ": " + strings.Join(details, ", "))
	n.warnings.put(time.Now().Round(0), text+" "+subject, untrusted.Truncate(shown, maxWarningText))
}
