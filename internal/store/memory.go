package store

import (
	"bytes"
	"sync"
)

// Memory is a [Store] that lasts as long as the process: for tests, and for nodes
// without a data folder. Like a disk it keeps its records over Close: the next
// Load opens it again, as the next start of a node does.
type Memory struct {
	mu      sync.Mutex
	records map[string][]byte
	failed  error // what every Load and Save returns, or nil
	closed  bool
}

var _ Store = (*Memory)(nil)

// NewMemory returns a store that holds nothing.
func NewMemory() *Memory { return &Memory{records: map[string][]byte{}} }

// Load returns every record, and opens the store if it was closed.
func (m *Memory) Load() (map[string][]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failed != nil {
		return nil, m.failed
	}
	m.closed = false
	records := make(map[string][]byte, len(m.records))
	for key, value := range m.records {
		records[key] = bytes.Clone(value)
	}
	return records, nil
}

// Save replaces the records of those keys.
func (m *Memory) Save(records ...Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failed != nil {
		return m.failed
	}
	if m.closed {
		return ErrClosed
	}
	if m.failed = checkKeys(records); m.failed != nil {
		return m.failed
	}
	for _, r := range records {
		m.records[r.Key] = append([]byte{}, r.Value...)
	}
	return nil
}

// Close ends the use of the store until the next Load.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	return nil
}
