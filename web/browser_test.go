package web_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/algo"
	"github.com/elect-go/elect/algo/lease"
	"github.com/elect-go/elect/cluster"
	"github.com/elect-go/elect/internal/testkit"
	"github.com/elect-go/elect/web"
)

// looked is one view of the page: see browser/look.mjs.
type looked struct {
	Title, Leader, Link, Back, Picture string
	Members                            [][]string
	Changes, Warnings, Elements        []string
	Lanes, Epochs                      []string
	Leads                              int
	Errors, Others, Focused            []string
	Wide                               bool
}

// browser is a run of browser/look.mjs.
type browser struct {
	t     *testing.T
	lines *bufio.Scanner
	tell  io.Writer
}

func browse(t *testing.T, url string) *browser {
	t.Helper()
	cmd := testkit.Browser(t, "browser/look.mjs", url+"/")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = in.Close(); _, _ = io.Copy(io.Discard, out); _ = cmd.Wait() })
	return &browser{t, bufio.NewScanner(out), in}
}

// look returns the next view.
func (b *browser) look() (l looked) {
	b.t.Helper()
	require.True(b.t, b.lines.Scan(), "the browser has ended: %v", b.lines.Err())
	require.NoError(b.t, json.Unmarshal(b.lines.Bytes(), &l))
	require.Empty(b.t, l.Others, "the page sends requests only to its node")
	return l
}

func (b *browser) goOn() {
	b.t.Helper()
	_, err := io.WriteString(b.tell, "\n")
	require.NoError(b.t, err)
}

// The page shows the leader, the next leader, and a lost connection, in each color scheme and on a phone.
func TestPageInBrowser(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error, 3)
	stops := make(map[string]context.CancelFunc)
	var first *cluster.Node
	for i := range 3 {
		c := cluster.Config{Name: fmt.Sprintf("n%d", i+1), Listen: "127.0.0.1:0", Bootstrap: i == 0, Priority: i, Timing: algo.WAN(), DataDir: t.TempDir()}
		if i > 0 {
			c.Join = []string{first.Members()[0].Addr}
		}
		n, err := cluster.New(c)
		require.NoError(t, err)
		running, stop := context.WithCancel(ctx)
		stops[c.Name] = stop
		go func() { ended <- n.Run(running) }()
		require.NoError(t, n.WaitLeader(ctx))
		if first == nil {
			first = n
		}
	}
	defer func() {
		cancel()
		for range 2 {
			require.NoError(t, <-ended)
		}
	}()
	server := httptest.NewServer(web.New(ctx, first))
	defer server.Close()
	for s := range first.Watch(ctx) { // until the highest member leads
		if s.Leader.Name == "n3" {
			break
		}
	}

	b := browse(t, server.URL)
	light := b.look()
	require.Equal(t, "★ n3 leads", light.Leader)
	require.Equal(t, "elect – elect", light.Title)
	require.Equal(t, "✓ live", light.Link)
	require.Len(t, light.Members, 3)
	require.Equal(t, []string{"n1", "follower", "● this node"}, light.Members[0][:3])
	require.Equal(t, []string{"n3", "★ leader", "● alive"}, light.Members[2][:3])
	require.NotContains(t, light.Elements, "img")

	stops["n3"]()
	require.NoError(t, <-ended)
	b.goOn()
	after := b.look()
	require.Equal(t, "★ n2 leads", after.Leader)
	require.Contains(t, after.Changes[0], "★ n2 leads") // the cause is n3's goodbye or n2's announcement
	require.Greater(t, len(after.Changes), len(light.Changes))
	require.Equal(t, []string{"n1", "n2", "n3"}, after.Lanes)
	require.Equal(t, epochsOf(after.Changes), after.Epochs)
	require.Len(t, after.Epochs, after.Leads, "a leadership is a span of a lane")

	dark, phone, phoneDark := b.look(), b.look(), b.look()
	require.NotEqual(t, light.Back, dark.Back)
	require.Equal(t, dark.Back, phoneDark.Back)
	for _, l := range []looked{light, after, dark, phone, phoneDark} {
		require.False(t, l.Wide, "%s: it does not fit the width", l.Picture)
		require.Empty(t, l.Errors, l.Picture)
	}
	keys := b.look()
	require.Equal(t, []string{"div members-title", "div changes-title", "a status", "a metrics", "a leader"}, cut(t, keys.Focused))

	server.CloseClientConnections()
	server.Close()
	b.goOn()
	lost := b.look()
	require.Contains(t, lost.Link, "⚠ Not connected since")
	require.Len(t, lost.Members, 3, "what was known stays")
}

var epochOfChange = regexp.MustCompile(`, (epoch \d+)`)

// epochsOf returns the epochs of the list of changes, the oldest one first.
func epochsOf(changes []string) (epochs []string) {
	for _, c := range slices.Backward(changes) {
		if found := epochOfChange.FindStringSubmatch(c); found != nil && !slices.Contains(epochs, found[1]) {
			epochs = append(epochs, found[1])
		}
	}
	return epochs
}

// cut returns the elements that get the focus, without the suffix of a visible focus. It fails the test if a focus does
// not show.
func cut(t *testing.T, focused []string) (all []string) {
	for _, f := range focused {
		what, shows := strings.CutSuffix(f, " solid")
		require.True(t, shows, "%s: the focus does not show", f)
		all = append(all, what)
	}
	return all
}

// The page shows the names and metadata of other members as plain text.
func TestPageShowsUntrustedText(t *testing.T) {
	n, err := cluster.New(cluster.Config{Name: "n1", Listen: "127.0.0.1:0", Members: []string{"127.0.0.1:0"}, Lease: lease.Off})
	require.NoError(t, err)
	const evil = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>`
	text, err := json.Marshal(evil)
	require.NoError(t, err)
	id := `"0192d3b8-7c1e-7000-8000-000000000002"`
	mux := http.NewServeMux()
	mux.Handle("/", web.New(t.Context(), n))
	mux.HandleFunc("/status", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"cluster":%[1]s,"algorithm":%[1]s,"node":%[2]s,"leader":%[2]s,"committed":false,"pending_contacts":[{"addr":%[1]s,"answer":%[1]s}],"warnings":[{"text":%[1]s,"at":"no time","count":2}],
			"members":[{"id":%[2]s,"name":%[1]s,"addr":%[1]s,"state":"__proto__","since":"no time"},{"id":"x","name":"n2","addr":"","state":%[1]s}]}`, text, id)
	})
	mux.HandleFunc("/events", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, why := range []string{`"constructor"`, `"__proto__"`, string(text)} {
			fmt.Fprintf(w, "id: a-1\nevent: change\ndata: {\"at\":\"no time\",\"leader\":{\"id\":%[2]s,\"name\":%[1]s,\"addr\":%[1]s,\"epoch\":%[1]s},"+
				"\"called\":{\"caller\":%[1]s,\"reason\":%[3]s,\"previous\":%[1]s},\"took\":%[1]s}\n\n", text, id, why)
		}
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	defer server.CloseClientConnections()
	l := browse(t, server.URL).look()
	require.Equal(t, evil+" – elect", l.Title)
	require.Equal(t, "★ "+evil+" leads", l.Leader)
	require.Equal(t, evil, l.Members[0][0])
	require.Equal(t, "? __proto__", l.Members[0][2])
	require.Equal(t, "? "+evil, l.Members[1][2])
	require.Contains(t, l.Changes[0], evil)
	require.Equal(t, []string{"Invalid Date⚠ " + evil + "2 times"}, l.Warnings)
	require.NotContains(t, l.Elements, "img")
	require.Empty(t, l.Errors)
}
