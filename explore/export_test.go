package explore

// Head is what a scenario writes of its options.
func (s *Scenario) Head() string { return head(&s.Options) }
