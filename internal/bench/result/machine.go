package result

import (
	"fmt"

	"github.com/elect-go/elect/internal/hostile"
)

// Machine is where a measurement was made.
type Machine struct {
	System string `json:"system"` // as linux/amd64
	Cores  int    `json:"cores"`
	Model  string `json:"model"` // of the processor
	Kernel string `json:"kernel"`
	Go     string `json:"go"`
	Load   string `json:"load"` // the load averages of 1, 5 and 15 minutes before it: what else was going on
	// FileSystem is the type of that on which nodes keep what they save; empty if none did.
	FileSystem string `json:"file_system,omitempty"`
}

func (m Machine) String() string {
	text := fmt.Sprintf("%s, %d cores (%s), kernel %s, %s, load average %s", m.System, m.Cores, m.Model, m.Kernel, m.Go, m.Load)
	if m.FileSystem != "" {
		text += ", data on " + m.FileSystem
	}
	return hostile.Plain(text)
}

// Differs says in words in what two machines are not the same, as far as that may change
// what is measured. The load is not compared: it never is the same.
func (m Machine) Differs(o Machine) []string {
	var all []string
	differ := func(what string, a, b any) {
		if a != b {
			all = append(all, hostile.Plain(fmt.Sprintf("%s: %v and %v", what, a, b)))
		}
	}
	differ("system", m.System, o.System)
	differ("cores", m.Cores, o.Cores)
	differ("processor", m.Model, o.Model)
	differ("kernel", m.Kernel, o.Kernel)
	differ("go", m.Go, o.Go)
	differ("file system", m.FileSystem, o.FileSystem)
	return all
}
