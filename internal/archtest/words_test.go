package archtest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "record the measures of the words, if none is worse than before")

// The measures of the words: how far comments, names and documents are from the field's terms in plain English.
//
//	go test ./internal/archtest -run TestWords -v         prints them beside the recorded ones
//	go test ./internal/archtest -run TestWords -update    records them, if none is worse
//
// No measure may become worse. wordLimits is the file with the recorded measures.
const wordLimits = "testdata/words.txt"

var (
	whoForms = regexp.MustCompile(`(?i)\b(who|whom|whose|whoever)\b`)
	anyWord  = regexp.MustCompile(`[A-Za-z0-9'-]+`)
	comment  = regexp.MustCompile(`(?m)(?:^|\s)// .*`)
	// Words with several meanings, or that no reader of the field knows.
	dialect = regexp.MustCompile(`(?i)\b(errands?|heirs?|doom|wish(es)?|strikes?|struck|rosters?|guests?|escort|hearsay|vouch(e[sd])?|doubt(s|ed|ing)?|hostile|strangers?|` +
		`storms?|gust|heed(s|ed)?|regret|settle[sd]?|stamps?|poisoned|unmet|in vain|of before|so many|so long|takes? it that|without a word|of its own accord|` +
		`lets? in|let in|says? so|(is|are|was) told|goes on|anew|some(body|one)|anybody|everybody|nobody|who(m|se|ever)?)\b`)
	participle = regexp.MustCompile(`(?m)^func (\([^)]*\) )?(told|asked|answered|granted|refused|released|held|drained|watched|vouched|beaten|accused|rejected|returned|` +
		`missed|awaited|settled|seated|named|struck|decided|voted|claimed|inquired|guarded|searched|stopped|ended|working|shown|probed|counted|` +
		`checked|mistaken|confirmed|wanted|kept|linked|agreed)\(`)
	testOfWho   = regexp.MustCompile(`(?m)^func (Test|Fuzz|Benchmark|Example)\w*(Who([A-Z]|m|se|ever)|Nobody|Somebody|Anybody|Everybody)`)
	testArticle = regexp.MustCompile(`(?m)^func (Test|Fuzz|Benchmark|Example)\w*[a-z](An?|The)[A-Z][a-z]`)
)

// kinds are the extensions of the files that people read: Go, documents, and the pages of the lab and of the daemon.
var kinds = []string{".go", ".md", ".js", ".mjs", ".html", ".css"}

// forEachFile calls read with each file of these kinds below root, except for the data of tests and the packages of
// others.
func forEachFile(t *testing.T, root string, read func(path string, text []byte)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name := entry.Name(); name == "testdata" || name == "node_modules" || name != "." && name != ".." && strings.HasPrefix(name, ".") {
				return filepath.SkipDir
			}
			return nil
		}
		if !slices.Contains(kinds, filepath.Ext(path)) {
			return nil
		}
		text, err := os.ReadFile(path)
		read(path, text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// texts are the files of the module by kind.
type texts struct{ code, tests, documents string }

func readTexts(t *testing.T, root string) texts {
	t.Helper()
	var code, tests, documents strings.Builder
	forEachFile(t, root, func(path string, text []byte) {
		into := &code
		switch {
		case filepath.Base(path) == "words_test.go": // it names the words
			return
		case strings.HasSuffix(path, "_test.go"), strings.HasSuffix(path, ".test.mjs"), strings.Contains(path, "/web/browser/"):
			into = &tests
		case filepath.Ext(path) == ".md":
			into = &documents
		}
		into.Write(text)
		into.WriteByte('\n')
	})
	return texts{code.String(), tests.String(), documents.String()}
}

// perThousand returns the number of matches in a thousand words of a text.
func perThousand(text string, pattern *regexp.Regexp) float64 {
	return 1000 * count(text, pattern) / max(1, count(text, anyWord))
}

func count(text string, pattern *regexp.Regexp) float64 {
	return float64(len(pattern.FindAllStringIndex(text, -1)))
}

type measure struct {
	name  string
	value float64
}

func measureWords(all texts) []measure {
	comments := strings.Join(comment.FindAllString(all.code, -1), "\n")
	return []measure{
		{"forms of who in 1,000 words of comments", perThousand(comments, whoForms)},
		{"forms of who in 1,000 words of documents", perThousand(all.documents, whoForms)},
		{"words of the dialect in code and its comments", count(all.code, dialect)},
		{"words of the dialect in tests", count(all.tests, dialect)},
		{"words of the dialect in documents", count(all.documents, dialect)},
		{"functions named by a participle", count(all.code, participle)},
		{"tests named by who or nobody", count(all.tests, testOfWho)},
		{"tests named with an article", count(all.tests, testArticle)},
	}
}

func TestWords(t *testing.T) {
	measures := measureWords(readTexts(t, "../.."))
	limits := make(map[string]float64)
	recorded, err := os.ReadFile(wordLimits)
	if err != nil && !*update {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(recorded)) {
		value, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		if limits[name], err = strconv.ParseFloat(value, 64); err != nil {
			t.Fatalf("%s: %q: want a number, two spaces and a name", wordLimits, line)
		}
	}
	var text strings.Builder
	for _, m := range measures {
		shown := strconv.FormatFloat(m.value, 'f', 2, 64)
		value, _ := strconv.ParseFloat(shown, 64)
		limit, isRecorded := limits[m.name]
		t.Logf("%8s  %s (recorded: %v)", shown, m.name, limit)
		switch {
		case !isRecorded && !*update:
			t.Errorf("%q is not in %s", m.name, wordLimits)
		case isRecorded && value > limit:
			t.Errorf("%s: %s, want at most %v: use the field's terms, and sentences whose subject has a role", m.name, shown, limit)
		}
		fmt.Fprintf(&text, "%s  %s\n", shown, m.name)
	}
	if *update && !t.Failed() {
		if err := os.WriteFile(wordLimits, []byte(text.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

func TestWordsAreCounted(t *testing.T) {
	all := texts{
		code:      "// whoever asks, is told\nfunc (n *node) told() {}\nx := who // says who\n",
		tests:     "func TestWhoLeads(t *testing.T) {}\nfunc TestWhole(t *testing.T) {}\nfunc TestNodeIsALeader(t *testing.T) {}\nfunc TestAPIThemes(t *testing.T) {}\n// nobody\n",
		documents: "Whose turn is it anew?\n",
	}
	got := ""
	for _, m := range measureWords(all) {
		got += fmt.Sprintf(" %.0f", m.value)
	}
	if want := " 333 200 4 1 2 1 1 1"; got != want {
		t.Errorf("measures%s, want%s", got, want)
	}
}
