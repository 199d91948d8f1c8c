package scenario

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Mode says what makes things happen. A set of them says where a form may stand.
type Mode uint8

// The modes.
const (
	Time   Mode = 1 << iota // clocks: whole nodes, with detectors, on a network
	Choice                  // the scenario says each step of each algorithm
	both   = Time | Choice
)

// Form is one way to write a command. In a usage, words in capitals stand for arguments,
// a|b is one of two, and what is in brackets may be left out, or repeated.
type Form struct {
	Modes Mode
	Head  bool // it stands before the cluster
	Body  bool // it stands after it, or is the cluster
	Usage string
	Means string
}

// Verb is its first word.
func (f *Form) Verb() string { verb, _, _ := strings.Cut(f.Usage, " "); return verb }

// Asks reports whether it asks for what must hold, and does nothing.
func (f *Form) Asks() bool {
	return slices.Contains([]string{"leader", "follows", "epoch", "broken"}, f.Verb())
}

// Language is all there is.
var Language = []Form{
	{both, true, false, "mode time|choice", "what makes things happen: clocks, which need not be said, or the steps of the scenario alone"},
	{both, true, false, "algorithm NAME", "what the nodes run"},
	{both, true, false, "option NAME=VALUE", "one of its options"},
	{Time, true, false, "timing local|lan|wan", "for which network the nodes are configured; lan if it is not said"},
	{Time, true, false, "timing NAME=TIME", "one time of that: heartbeat, timeout, max_timeout, forgive, min_redial, max_redial, round_trip, first_contact"},
	{Time, true, false, "detector heartbeats|perfect|scripted", "how nodes learn who is dead; by heartbeats if it is not said"},
	{Time, true, false, "seed COUNT", "of everything random; 1 if it is not said"},
	{Time, true, true, "delay DELAY", "of messages: 1ms (fixed, and so if it is not said), 1ms..5ms (uniform), 1ms~1s (heavy tailed)"},
	{Time, true, true, "loss PROBABILITY", "that a frame is lost"},
	{Time, true, true, "duplicate PROBABILITY", "that it arrives twice"},
	{Time, true, true, "reorder PROBABILITY", "that it is late, and may overtake others"},
	{Choice, true, false, "network once|lossy", "a message arrives once, or any number of times, which need not be said"},
	{Choice, true, false, "settled", "all have started and agree; else nobody has started"},
	{Choice, true, false, "property NAME", "one that is looked for; without, what the algorithm claims. Contract is always looked for"},
	{Choice, true, false, "witness NODE", "it may not lead"},
	{Choice, true, false, "view COUNT", "the number of the view; 1 if it is not said"},
	{Choice, true, false, "size COUNT", "so many are configured, where that is more than are known"},

	{both, false, true, "cluster COUNT [PRIORITY…]", "so many nodes, n1, n2, …, of these priorities. In mode time they are started"},
	{Time, false, true, "run TIME", "so much time passes"},
	{Time, false, true, "at TIME", "time passes until then, from the beginning"},
	{Choice, false, true, "start NODE", "it starts for the first time"},
	{both, false, true, "crash NODE", "a kill: what was saved remains"},
	{Time, false, true, "crash NODE after save", "the next time that it has saved, before anything is sent"},
	{Time, false, true, "crash NODE after COUNT", "after so many effects of what its engine next asks for"},
	{Time, false, true, "disarm", "no crash that is yet to come comes"},
	{both, false, true, "restart NODE", "with what it had saved"},
	{Time, false, true, "stop NODE", "it says goodbye"},
	{Time, false, true, "pause NODE", "as SIGSTOP does"},
	{Time, false, true, "resume NODE", "as SIGCONT does"},
	{Time, false, true, "clock NODE COUNT", "the speed of its clock in parts per million: 500000 is half as fast"},
	{both, false, true, "campaign NODE", "its application calls for an election"},
	{Time, false, true, "resign NODE TIME", "it may not lead for so long"},
	{Time, false, true, "priority NODE NUMBER", "that is its priority from now on"},
	{Time, false, true, "join NODE", "one more node joins, through this one"},
	{Time, false, true, "leave NODE", "it ends its membership, once others have heard of that"},
	{Time, false, true, "remove NODE PEER", "an operator at the node removes the peer"},
	{Time, false, true, "withdraw NODE", "it asks no more for what is not done of that"},
	{both, false, true, "suspect NODE PEER", "its detector takes the peer for dead; in mode time one that is perfect or scripted"},
	{Choice, false, true, "suspect NODE PEER wrongly", "and the peer has been running all the time"},
	{both, false, true, "trust NODE PEER", "and takes that back"},
	{Time, false, true, "learn NODE PEER", "or says it when the node asks about the peer, or sends to it"},
	{Choice, false, true, "deliver FROM TO MESSAGE [FIELD=VALUE…]", "one that was sent; fields that are zero are left out"},
	{Choice, false, true, "expire NODE TIMER", "its timer of that name ends"},
	{Time, false, true, "cut FROM TO", "nothing passes from the one to the other"},
	{Time, false, true, "partition [GROUP…]", "who shares a group, as n1,n2, hears each other"},
	{Time, false, true, "heal", "no cut, no partition, no loss, duplicates or reordering"},
	{Time, false, true, "link FROM TO DELAY", "of messages from the one to the other"},

	{both, false, true, "leader NODE", "all nodes that run follow this one, which runs"},
	{both, false, true, "leader none", "nobody follows anybody"},
	{both, false, true, "follows NODE LEADER", "whom one node follows"},
	{both, false, true, "follows NODE none", "it follows nobody"},
	{both, false, true, "epoch COUNT", "of the leadership that all follow"},
	{Time, false, true, "await TIME", "after so long all agree on one leader and one membership, and nothing changes for so long again"},
	{both, false, true, "broken PROPERTY", "what was done last breaks it, and that is known"},
}

// Reference explains the language, for a terminal.
func Reference() string {
	var b strings.Builder
	for _, mode := range []struct {
		Mode
		name string
	}{{both, "both modes"}, {Time, "mode time"}, {Choice, "mode choice"}} {
		for _, head := range []bool{true, false} {
			where := "Before the cluster"
			if !head {
				where = "From the cluster on"
			}
			fmt.Fprintf(&b, "%s, in %s:\n\n", where, mode.name)
			for _, f := range Language {
				if f.Modes == mode.Mode && (head && f.Head || !head && f.Body) {
					fmt.Fprintf(&b, "  %-38s  %s\n", f.Usage, f.Means)
				}
			}
			b.WriteString("\n")
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Arg is one argument of a command. Which fields count follows from its place in the form.
type Arg struct {
	Text   string // as a text without its quotes; of a setting, its value
	Name   string // of a setting
	Node   int    // n1 is 1
	Nodes  []int
	Number int
	Count  uint64
	Time   time.Duration
	Share  float64 // a probability
	word   word
}

// longest is how long a scenario may take: its times together stay within an int64.
const longest = 500_000 * time.Hour

// kinds are the arguments that are read here, by their names in a usage. All others are
// texts, which a host reads.
var kinds = map[string]struct {
	want string
	read func(a *Arg) bool
}{
	"NODE": {"a node, such as n5", readNode}, "PEER": {"a node, such as n5", readNode}, "LEADER": {"a node, such as n5", readNode},
	"FROM": {"a node, such as n5", readNode}, "TO": {"a node, such as n5", readNode},
	"GROUP": {"nodes with commas, such as n1,n2", func(a *Arg) bool {
		for name := range strings.SplitSeq(a.Text, ",") {
			n, ok := number(name)
			if !ok {
				return false
			}
			a.Nodes = append(a.Nodes, n)
		}
		return true
	}},
	"NUMBER": {"a whole number", readNumber}, "PRIORITY": {"a whole number", readNumber},
	"COUNT": {"a whole number that is not negative", func(a *Arg) (ok bool) {
		var err error
		a.Count, err = strconv.ParseUint(a.Text, 10, 64)
		return err == nil
	}},
	"TIME": {"a time, such as 1.5s, of at most 500000h", readTime},
	"NAME=TIME": {"NAME=TIME, such as timeout=380ms", func(a *Arg) bool {
		return readSetting(a) && readTime(a) && a.Time > 0
	}},
	"NAME=VALUE": {"NAME=VALUE", readSetting}, "FIELD=VALUE": {"FIELD=VALUE", readSetting},
	"PROBABILITY": {"a probability, such as 0.05 or 5%", func(a *Arg) bool {
		text, percent := strings.CutSuffix(a.Text, "%")
		p, err := strconv.ParseFloat(text, 64)
		if percent {
			p /= 100
		}
		a.Share = p
		return err == nil && p >= 0 && p <= 1
	}},
}

// number reads the name of a node.
func number(name string) (int, bool) {
	digits, found := strings.CutPrefix(name, "n")
	n, err := strconv.ParseUint(digits, 10, 31)
	return int(n), found && err == nil && n > 0 && digits[0] != '0'
}

func readNode(a *Arg) (ok bool) { a.Node, ok = number(a.Text); return ok }

func readNumber(a *Arg) bool {
	n, err := strconv.Atoi(a.Text)
	a.Number = n
	return err == nil
}

func readTime(a *Arg) bool {
	d, err := time.ParseDuration(a.Text)
	a.Time = d
	return err == nil && d >= 0 && d <= longest
}

func readSetting(a *Arg) (found bool) {
	name, value, found := strings.Cut(a.word.text, "=")
	var errName, errValue error
	a.Name, errName = Unquote(name)
	a.Text, errValue = Unquote(value)
	return found && name != "" && errName == nil && errValue == nil
}

// Unquote is the inverse of Quote.
func Unquote(word string) (string, error) {
	if !strings.HasPrefix(word, `"`) {
		return word, nil
	}
	text, err := strconv.Unquote(word)
	if err != nil {
		return "", fmt.Errorf("%s, want one text", word)
	}
	return text, nil
}

// match reads words as this form. It says how many fit, and what was wanted then.
func (f *Form) match(words []word) (args []Arg, fit int, want string) {
	pattern := strings.Fields(f.Usage)[1:]
	for len(words) > fit || len(pattern) > 0 {
		if len(pattern) == 0 {
			return nil, fit, "the end of the line"
		}
		place := strings.Trim(pattern[0], "[]…")
		if optional := strings.HasPrefix(pattern[0], "["); optional && len(words) == fit {
			return args, fit, ""
		} else if !optional {
			pattern = pattern[1:]
		}
		kind, known := kinds[place]
		literal := place == strings.ToLower(place)
		if !known {
			kind.want = strings.ReplaceAll(place, "|", " or ")
		}
		if len(words) == fit {
			return nil, fit, kind.want
		}
		a := Arg{word: words[fit]}
		text, err := Unquote(words[fit].text)
		ok := err == nil || strings.Contains(place, "=") // what stands there has parts
		if a.Text = text; known {
			ok = ok && kind.read(&a)
		} else if literal {
			ok = ok && slices.Contains(strings.Split(place, "|"), text)
		}
		if !ok {
			return nil, fit, kind.want
		}
		args = append(args, a)
		fit++
	}
	return args, fit, ""
}
