//go:build unix

package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/elect-go/elect/internal/testkit"
)

// followed are the sections of docs/operations.md with a runbook that a test follows line by line.
var followed = []string{"From one to three, and back to one", "When a majority is lost for good"}

// notRun are the shell lines that no test runs, with the reason. The list may only shrink.
var notRun = map[string]string{
	"go test ./...": "it would run this test again",
	"go mod edit -require github.com/elect-go/elect@v0.0.0 -replace github.com/elect-go/elect=../elect": "it edits the module of the reader: elect new makes such a module",
	"vi /etc/elect.yaml":                  "an editor: TestSIGHUPChangesMemberList writes the file",
	"kill -HUP $(pidof elect)":            "TestSIGHUPChangesMemberList sends the signal to each of several nodes",
	"elect node --config /etc/elect.yaml": "TestSIGHUPChangesMemberList starts it with the file of each node",
	"elect status 10.0.0.1:7400":          "TestSIGHUPChangesMemberList asks each node",
	"kill $(pidof elect)":                 "TestSIGHUPChangesMemberList waits until the removed node ends by itself",
}

// documentScripts run the other shell lines. A line that begins with … stands for the document line with the same end.
var documentScripts = []struct {
	name  string
	lines []string
	run   func(s *shell, lines []string)
}{
	{"build", []string{"go run ./cmd/elect demo", "go build -o elect ./cmd/elect"}, func(s *shell, lines []string) {
		require.Contains(s.t, s.run("cd "+s.module+" && "+lines[0]), "All survivors follow n4")
		s.run("cd " + s.module + " && " + strings.Replace(lines[1], "-o elect", "-o "+s.root+"/built", 1))
		require.Contains(s.t, s.run(s.root+"/built version"), "protocol")
	}},
	{"simulation", []string{
		"elect sim --algorithm textbook-bully --nodes 4 --crashed 1 --initiators lowest --diagram",
		"… --false-suspicions 1 --property one-leader-per-epoch",
		"… --epochs 2",
	}, func(s *shell, lines []string) {
		require.Contains(s.t, s.run(lines[0]), "sent        11 messages: 6 election, 3 answer, 2 coordinator")
		require.Contains(s.t, s.run(lines[1]+`; test $? = 1`), "5 steps")
		s.run(lines[2])
	}},
	{"files", []string{
		"elect cert init --cluster elect --dir /etc/elect",
		"elect cert issue --cluster elect --dir /etc/elect --member a",
		"elect cert issue --cluster elect --dir /etc/elect --operator",
		"elect cert issue --dir /etc/elect --member a --host 10.0.0.1 --host a.example.net",
		"elect cert issue --dir /etc/elect --observer",
		"elect completion bash > /etc/bash_completion.d/elect",
		"elect man /usr/local/share/man/man1",
		"elect config check /etc/elect.yaml --algorithm vote",
	}, func(s *shell, lines []string) {
		s.write("etc/elect.yaml", "listen: 10.0.0.1:7400\nmembers: [10.0.0.1:7400, 10.0.0.2:7400, 10.0.0.3:7400]\ndata_dir: /var/lib/elect\n")
		for _, line := range lines {
			s.run(strings.Replace(line, "--member a --host", "--member b --host", 1)) // a has a certificate already
		}
		for _, file := range []string{"elect/observer.crt", "elect/a.crt", "elect/a.key", "elect/ca.crt", "elect/operator.crt", "bash_completion.d/elect"} {
			require.FileExists(s.t, filepath.Join(s.root, "etc", file))
		}
		require.FileExists(s.t, filepath.Join(s.root, "usr/local/share/man/man1/elect-node.1"))
	}},
	{"three nodes with a secret", []string{
		"elect secret /etc/elect.secret; export ELECT_SECRET_FILE=/etc/elect.secret",
		"MEMBERS=10.0.0.1:7400,10.0.0.2:7400,10.0.0.3:7400",
		"elect node --listen 10.0.0.1:7400 --data-dir /var/lib/elect --members $MEMBERS",
		"elect status 10.0.0.2:7400 --json | jq -r .leader_name",
		"elect watch 10.0.0.1:7400",
		"elect watch 10.0.0.1:7400 --json | jq --unbuffered -r '.leader_addr'",
		`elect watch --config /etc/elect.yaml --exec 'echo "$ELECT_WATCH_LEADER_ADDR" > /run/leader'`,
		"elect debug 10.0.0.1:7400",
		"elect debug --config /etc/elect.yaml --output report.tgz",
		"elect priority 10 NODE",
		"elect resign --for 10m NODE",
		"elect remove n3 ANY",
		"elect leave NODE",
	}, func(s *shell, lines []string) {
		secret, export, found := strings.Cut(lines[0], "; ")
		require.True(s.t, found)
		s.run(secret)
		export += "\n"
		for i := 1; i <= 3; i++ {
			s.start(export+lines[1]+fmt.Sprintf("\nexport ELECT_NAME=n%d\n", i)+s.ofMachine(lines[2], i), nil)
		}
		s.await(export+lines[3], `^n[123]\n$`)
		s.write("etc/elect.yaml", "listen: 10.0.0.1:7400\nmembers: [10.0.0.1:7400, 10.0.0.2:7400, 10.0.0.3:7400]\n"+
			"data_dir: /var/lib/elect\nsecret_file: /etc/elect.secret\n")
		s.start(export+lines[4], regexp.MustCompile(`n[123]`))
		s.start(export+lines[5], regexp.MustCompile(`^127\.`))
		s.start(lines[6], nil)
		s.await("cat /run/leader", `^127\.`)
		at := func(line string, i int) string {
			return export + regexp.MustCompile(`NODE|ANY`).ReplaceAllString(line, fmt.Sprintf("10.0.0.%d:7400", i))
		}
		for _, line := range lines[7:9] {
			require.Contains(s.t, s.run(export+"cd "+s.root+" && "+line), "3 of 3 members")
		}
		require.FileExists(s.t, filepath.Join(s.root, "report.tgz"))
		s.run(at(lines[9], 1))
		s.run(at(lines[10], 2))
		s.run(at(lines[11], 1))
		s.run(at(lines[12], 2))
		s.await(export+"elect status 10.0.0.1:7400 --json | jq -r '.members[].name'", `^n1\n$`)
	}},
	{"a node that joins", []string{
		"elect node --listen 10.0.0.1:7400 --data-dir /var/lib/elect --bootstrap",
		"elect node --listen 10.0.0.2:7400 --data-dir /var/lib/elect --join 10.0.0.1:7400",
	}, func(s *shell, lines []string) {
		s.start(s.ofMachine(lines[0], 1), nil)
		s.start(s.ofMachine(lines[1], 2), nil)
		s.await("elect status 10.0.0.2:7400 --json | jq -r '.leader != null, (.members | length)'", `^true\n2\n$`)
	}},
	{"a pair without a lease", []string{
		"elect node --lease=off --listen 10.0.0.1:7400 --members 10.0.0.1:7400,10.0.0.2:7400",
	}, func(s *shell, lines []string) {
		for i := 1; i <= 2; i++ {
			s.start(strings.Replace(lines[0], "--listen 10.0.0.1", fmt.Sprintf("--listen 10.0.0.%d", i), 1), nil)
		}
		s.await("elect status 10.0.0.2:7400 --json | jq -r '.leader != null, (.members | length)'", `^true\n2\n$`)
	}},
	{"a command", []string{
		"elect run --config /etc/elect.yaml --restart on-failure -- /usr/local/bin/scheduler --port 8080",
		"elect run --config /etc/elect.yaml --once -- /usr/local/bin/nightly-report",
	}, func(s *shell, lines []string) {
		s.write("etc/elect.yaml", "listen: 10.0.0.1:7400\nbootstrap: true\ndata_dir: /var/lib/elect\n")
		s.write("usr/local/bin/scheduler", "#!/bin/sh\necho \"$@\" $ELECT_RUN_TOKEN >/run/scheduler\nexec sleep 600\n")
		s.write("usr/local/bin/nightly-report", "#!/bin/sh\necho report\n")
		p := s.start(lines[0], nil)
		s.await("cat /run/scheduler", `^--port 8080 [0-9]+\n$`)
		require.NoError(s.t, p.Process.Signal(syscall.SIGTERM))
		require.NoError(s.t, p.Wait())
		// --once without a value means a minute; a second is enough here.
		require.Equal(s.t, "report\n", s.run(strings.Replace(lines[1], "--once", "--once=1s", 1)))
	}},
}

// shell runs lines of a page on this machine, with free loopback addresses and folders below a temporary one.
type shell struct {
	t            *testing.T
	root, module string
	rewrite      *strings.Replacer
	env          []string
}

func newShell(t *testing.T) *shell {
	s := &shell{t: t, root: t.TempDir()}
	own, err := os.Executable()
	require.NoError(t, err)
	s.module, err = filepath.Abs("..")
	require.NoError(t, err)
	for _, folder := range []string{"etc/bash_completion.d", "run", "var/lib"} { // as on a machine
		require.NoError(t, os.MkdirAll(filepath.Join(s.root, folder), 0o755))
	}
	s.write("bin/elect", fmt.Sprintf("#!/bin/sh\n%s exec '%s' \"$@\"\n", strings.Join(childEnv[:1], " "), own))
	var pairs, taken []string
	for i := 1; i <= 3; i++ {
		addr := keptFree(t, taken)
		taken = append(taken, addr)
		pairs = append(pairs, fmt.Sprintf("10.0.0.%d:7400", i), addr)
	}
	for _, folder := range []string{"/etc/", "/var/lib/", "/usr/local/", "/run/"} {
		pairs = append(pairs, folder, s.root+folder)
	}
	s.rewrite = strings.NewReplacer(pairs...)
	s.env = append(os.Environ(), "PATH="+s.root+"/bin:"+os.Getenv("PATH"))
	return s
}

// write writes a file below root; others cannot change it, and all can execute it.
func (s *shell) write(name, text string) {
	s.t.Helper()
	path := filepath.Join(s.root, name)
	require.NoError(s.t, os.MkdirAll(filepath.Dir(path), 0o755))
	if s.rewrite != nil {
		text = s.rewrite.Replace(text)
	}
	require.NoError(s.t, os.WriteFile(path, []byte(text), 0o755))
}

// ofMachine changes the line of the first machine into the line of machine i.
func (s *shell) ofMachine(line string, i int) string {
	line = strings.Replace(line, "--listen 10.0.0.1:", fmt.Sprintf("--listen 10.0.0.%d:", i), 1)
	return strings.ReplaceAll(line, "/var/lib/elect", fmt.Sprintf("/var/lib/elect%d", i))
}

func (s *shell) command(ctx context.Context, script string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "bash", "-c", s.rewrite.Replace(script))
	cmd.Dir, cmd.Env = s.root, s.env
	return cmd
}

// run runs a script, which must succeed, and returns its output.
func (s *shell) run(script string) string {
	s.t.Helper()
	cmd := s.command(within(s.t), script)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(s.t, err, "%s:\n%s%s", script, out, &stderr)
	return string(out)
}

// await runs a script until its output matches.
func (s *shell) await(script, want string) {
	s.t.Helper()
	var out []byte
	require.Eventually(s.t, func() bool {
		out, _ = s.command(s.t.Context(), script).Output()
		return regexp.MustCompile(want).Match(out)
	}, patience, 20*time.Millisecond, "%s prints %s", script, &out)
}

// start starts a script and kills all its processes at the end of the test. If line is set, start waits for a line of
// output that matches it.
func (s *shell) start(script string, line *regexp.Regexp) *exec.Cmd {
	s.t.Helper()
	i := strings.LastIndex(script, "\n") + 1
	if !strings.Contains(script[i:], " | ") {
		script = script[:i] + "exec " + script[i:] // so that a signal reaches it
	}
	cmd := s.command(within(s.t), script)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdout, stderr := newLineBuffer(), newLineBuffer()
	cmd.Stdout, cmd.Stderr = stdout, stderr
	require.NoError(s.t, cmd.Start())
	s.t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
		if s.t.Failed() {
			s.t.Logf("%s:\n%s", script, stderr.text())
		}
	})
	for line != nil && !line.MatchString(stdout.line(s.t)) {
	}
	return cmd
}

// wholeLines replaces each line that begins with … by the document line with the same end.
func wholeLines(t *testing.T, lines []string) (whole []string) {
	t.Helper()
	all := documentLines(t)
	for _, line := range lines {
		if end, short := strings.CutPrefix(line, "…"); short {
			i := slices.IndexFunc(all, func(l string) bool { return strings.HasSuffix(l, end) })
			require.GreaterOrEqual(t, i, 0, line)
			line = all[i]
		}
		whole = append(whole, line)
	}
	return whole
}

// A test runs each shell line of README.md and docs/operations.md that notRun does not list.
func TestShellLineOfDocumentIsRun(t *testing.T) {
	var known []string
	for _, script := range documentScripts {
		known = append(known, wholeLines(t, script.lines)...)
	}
	for line, why := range notRun {
		require.NotEmpty(t, why, line)
		known = append(known, line)
	}
	lines := documentLines(t, followed...)
	slices.Sort(lines)
	require.ElementsMatch(t, slices.Compact(lines), known)
	require.LessOrEqual(t, len(notRun), 7, "the list of lines that no test runs may only shrink")
}

func TestShellLinesOfDocuments(t *testing.T) {
	testkit.OnlyLong(t)
	for _, tool := range []string{"bash", "jq"} {
		_, err := exec.LookPath(tool)
		testkit.Need(t, err == nil, tool)
	}
	t.Parallel()
	for _, script := range documentScripts {
		t.Run(script.name, func(t *testing.T) {
			t.Parallel()
			script.run(newShell(t), wholeLines(t, script.lines))
		})
	}
}
