package cli

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// rectOf is a rectangle of a picture.
type rectOf struct{ x, y, width, height string }

// rectsOf returns the rectangles of a picture by class, and requires that the picture is valid XML.
func rectsOf(t *testing.T, picture string) map[string][]rectOf {
	t.Helper()
	all := make(map[string][]rectOf)
	for in := xml.NewDecoder(strings.NewReader(picture)); ; {
		token, err := in.Token()
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "rect" {
			of := make(map[string]string)
			for _, a := range e.Attr {
				of[a.Name.Local] = a.Value
			}
			all[of["class"]] = append(all[of["class"]], rectOf{of["x"], of["y"], of["width"], of["height"]})
		}
	}
}

// legend is the rectangle of the first entry of the legend.
func legend(y string) rectOf { return rectOf{"8.0", y, "12", "10"} }

func TestChaosPictureIsToScale(t *testing.T) {
	at := func(s float64) int64 { return int64(s * float64(time.Second)) }
	p := &chaosPicture{
		nodes: 3, began: at(0), until: at(10),
		faults: []faultSpan{{&faultObject{Fault: faultPartition, Nodes: []string{"n2", "n3"}}, at(4), at(6)}},
		shifts: []shift{shiftOf("n3", 1, [2]int64{0, 5000}), shiftOf("n1", 2, [2]int64{4500, 20000})},
	}
	picture := p.draw("a < b", []string{"One line.", "Another & one."})
	rects := rectsOf(t, picture)
	width := (chaosRight - chaosLeft) / 10.0
	require.Equal(t, 74.6, width)
	require.Equal(t, []rectOf{{"42.0", "102", "373.0", "8"}, {"377.7", "54", "410.3", "8"}}, rects["work"][:2], "n3 is in the third row, and work beyond the end is cut")
	require.Equal(t, []rectOf{{"340.4", "71", "149.2", "22"}, {"340.4", "95", "149.2", "22"}}, rects["partition"][:2], "both members that are cut off")
	require.Equal(t, []rectOf{{"377.7", "119", "37.3", "5"}}, rects["two"][:1])
	require.Equal(t, legend("151"), rects["work"][2])
	for class, drawn := range map[string]int{"work": 3, "partition": 3, "two": 2, "kill": 0, "pause": 0} {
		require.Len(t, rects[class], drawn, "the legend explains what is drawn, and nothing else")
	}
	for _, text := range []string{"a &lt; b", ">cut off</text>", ">0 s<", ">10 s<", ">One line.<", ">Another &amp; one.<"} {
		require.Contains(t, picture, text)
	}
}

// Labels of close faults do not overlap, and the picture of an hour has few times.
func TestChaosPictureOfLongRunIsReadable(t *testing.T) {
	p := &chaosPicture{nodes: 3, until: int64(time.Hour), shifts: []shift{shiftOf("n1", 1, [2]int64{0, 3600_000})}}
	for i := range 600 {
		began := int64(i) * int64(6*time.Second)
		p.faults = append(p.faults, faultSpan{&faultObject{Fault: faultKill, Nodes: []string{"n1"}}, began, began + int64(time.Second)})
	}
	picture := p.draw("elect", nil)
	require.Len(t, rectsOf(t, picture)["kill"], 601)
	labels := strings.Count(picture, ">killed<") - 1
	require.Greater(t, labels, 10)
	require.Less(t, labels, 20)
	require.LessOrEqual(t, strings.Count(picture, `class="time"`), 11)
	require.Contains(t, picture, ">3600 s<")
}

func TestTwoAtWork(t *testing.T) {
	s := int64(time.Millisecond)
	require.Empty(t, twoAtWork([]shift{shiftOf("n1", 1, [2]int64{0, 5}), shiftOf("n2", 2, [2]int64{5, 9})}, nil))
	require.Equal(t, []period{{3 * s, 5 * s}}, twoAtWork([]shift{shiftOf("n1", 1, [2]int64{0, 5}), shiftOf("n2", 2, [2]int64{3, 9})}, nil))
	require.Equal(t, []period{{3 * s, 4 * s}}, twoAtWork([]shift{shiftOf("n1", 1, [2]int64{0, 9}), shiftOf("n2", 2, [2]int64{3, 4})}, nil))
	woken := []shift{shiftOf("n1", 1, [2]int64{0, 1000}, [2]int64{3000, 3002}), shiftOf("n2", 2, [2]int64{2000, 9000})}
	require.Len(t, twoAtWork(woken, nil), 1)
	require.Empty(t, twoAtWork(woken, []freeze{{"n1", 1000 * s, 3000 * s}}), "a freeze excuses it")
}

// The pictures of README.md have the current style. Two members work at once only in the one without the lease.
func TestChaosPicturesOfDocuments(t *testing.T) {
	for name, lease := range map[string]bool{"chaos.svg": true, "chaos-lease-off.svg": false} {
		picture, err := os.ReadFile(filepath.Join("..", "docs", name))
		require.NoError(t, err)
		require.Contains(t, string(picture), "<style>"+chaosStyle+"</style>", "draw docs/%s again, as README.md says", name)
		rects := rectsOf(t, string(picture))
		require.NotEmpty(t, rects["work"])
		require.Equal(t, lease, len(rects["two"]) == 0, name)
		require.Equal(t, lease, strings.Contains(string(picture), "Two members worked at once for 0.0 ms, with the lease."), name)
	}
}

func TestChaosPictureNeedsFile(t *testing.T) {
	status, _, stderr := elect("demo", "--svg", "x.svg")
	require.Equal(t, statusUsage, status)
	require.Contains(t, stderr, "--svg is set without --chaos")
	status, _, stderr = elect("demo", "--chaos", "1s", "--svg", t.TempDir())
	require.Equal(t, statusFailed, status)
	require.Contains(t, stderr, "--svg: open ")
}
