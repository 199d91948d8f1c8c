package sim

import (
	"strings"
	"testing"
)

func TestMethodsAreRecordedAsCommands(t *testing.T) {
	w := cluster(t, 3, nil)
	for _, err := range []error{
		w.Campaign(2), w.Cut(1, 2), w.Partition([]int{1, 3}, []int{2}), w.Partition(), w.Heal(),
		w.Pause(1), w.Resume(1), w.Crash(3), w.Restart(3), w.Stop(2),
	} {
		must(t, err)
	}
	const want = "campaign n2\ncut n1 n2\npartition n1,n3 n2\npartition\nheal\n" +
		"pause n1\nresume n1\ncrash n3\nrestart n3\nstop n2\n"
	if _, commands, _ := strings.Cut(w.Scenario(), "run 1s\n"); commands != want {
		t.Errorf("recorded\n%s\nwant\n%s", commands, want)
	}
}

func TestImpossibleMethodsAreErrors(t *testing.T) {
	w := cluster(t, 3, nil)
	must(t, w.Crash(2))
	for want, err := range map[string]error{
		"sim: crash n2: it is down":                           w.Crash(2),
		"sim: cut n1 n4: there is no n4, want n1 to n3":       w.Cut(1, 4),
		"sim: partition n1,n4: there is no n4, want n1 to n3": w.Partition([]int{1, 4}),
	} {
		if err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}
