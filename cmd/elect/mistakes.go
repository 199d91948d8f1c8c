package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/elect-go/elect/internal/config"
)

// mistakes are those in the flags of a command, each once.
type mistakes struct{ texts []string }

func (m *mistakes) add(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(m.texts, text) {
		m.texts = append(m.texts, text)
	}
}

// take adds those that were found elsewhere.
func (m *mistakes) take(err error) {
	var found *config.Error
	switch {
	case errors.As(err, &found):
		for _, one := range found.Mistakes {
			m.add("%s", one)
		}
	case err != nil:
		m.add("%s", err)
	}
}

// error says all of them at once; nil if there are none.
func (m *mistakes) error() error {
	switch len(m.texts) {
	case 0:
		return nil
	case 1:
		return &usageError{m.texts[0]}
	}
	return usagef("%d mistakes:\n  %s", len(m.texts), strings.Join(m.texts, "\n  "))
}
