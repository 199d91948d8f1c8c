package explore

// Head returns the lines of a scenario that state its options.
func (s *Scenario) Head() string { return head(&s.Options) }
