package main

import "fmt"

// move replaces the version of one process after another, while the leaders write: to the etcd, and back. Each time
// when all have one version, the leader is killed, too.
func (d *driver) move() error {
	for _, v := range []version{both, external, both, embedded} {
		for _, p := range d.all {
			if _, err := d.awaitLeader(); err != nil {
				return fmt.Errorf("before %s has version %s: %w", p.name, v, err)
			}
			if err := d.replace(p, v); err != nil {
				return err
			}
		}
		leader, err := d.awaitLeader()
		if err == nil {
			err = d.kill(leader)
		}
		if err != nil {
			return fmt.Errorf("all have version %s: %w", v, err)
		}
	}
	_, err := d.awaitLeader()
	return err
}

// replace stops a process, and starts it with another version.
func (d *driver) replace(p *process, v version) error {
	fmt.Printf("%s is stopped with version %s, and started with version %s\n", p.name, p.version, v)
	if err := p.end(); err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	p.version = v
	return d.run(p)
}
