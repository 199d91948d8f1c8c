package testkit

// Store keeps the state of a node. It is cluster.Store, which this package may not import.
type Store interface {
	Load() (state []byte, err error)
	Save(state []byte) error
	Close() error
}

// HookedStore is a store that calls BeforeSave before each save. The save fails with its error.
type HookedStore struct {
	Store
	BeforeSave func(state []byte) error
}

// Save saves the state unless BeforeSave fails.
func (s *HookedStore) Save(state []byte) error {
	if err := s.BeforeSave(state); err != nil {
		return err
	}
	return s.Store.Save(state)
}
