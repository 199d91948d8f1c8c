package exercise

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/elect-go/elect/internal/mutants"
)

// plant is an algorithm of elect without one rule, as a package of a module.
type plant struct {
	folder string // of the package in the module
	pkg    string // of elect
	mutant string // see package mutants; empty: the algorithm is complete
}

// texts returns the files of the packages. elect is the root of the source of elect.
func (p plant) texts(elect string) (map[string][]byte, error) {
	entries, err := os.ReadDir(filepath.Join(elect, filepath.FromSlash(p.pkg)))
	if err != nil {
		return nil, err
	}
	texts := map[string][]byte{}
	for _, entry := range entries {
		name := entry.Name()
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		file := path.Join(p.pkg, name)
		text, err := os.ReadFile(filepath.Join(elect, filepath.FromSlash(file)))
		if err != nil {
			return nil, err
		}
		if texts[path.Join(p.folder, name)], err = p.removeRule(file, text); err != nil {
			return nil, err
		}
	}
	return texts, nil
}

// removeRule returns the text of a file without the rule.
func (p plant) removeRule(file string, text []byte) ([]byte, error) {
	if p.mutant == "" {
		return text, nil
	}
	diff, err := mutants.Of(p.mutant)
	if err != nil {
		return nil, err
	}
	changed, err := diff.Apply(file, string(text))
	if err != nil {
		return nil, fmt.Errorf("the source of elect is not that of this program: %w", err)
	}
	return []byte(changed), nil
}

// bugs are the packages of the exercise bugs.
var bugs = []plant{
	{"bug1", "algo/bully", "bully/follows-a-lower-process"},
	{"bug2", "algo/ring", "ring/forgotten-epoch"},
	{"bug3", "algo/vote", "vote/double-vote"},
	{"bug4", "algo/ring", "ring/waits-for-no-outcome"},
}

// tested are the algorithms that the test of the exercise test must tell apart.
var tested = []plant{
	{programFolder + "/good", "algo/bully", ""},
	{programFolder + "/mutant1", "algo/bully", "bully/follows-a-lower-process"},
	{programFolder + "/mutant2", "algo/bully", "bully/never-trusts-again"},
	{programFolder + "/mutant3", "algo/bully", "bully/says-it-once"},
	{programFolder + "/mutant4", "algo/bully", "bully/no-succession"},
	{programFolder + "/mutant5", "algo/bully", "algo/elects-at-rest"},
	{programFolder + "/mutant6", "algo/bully", "algo/monitors-all"},
}
