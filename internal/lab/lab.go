// Package lab is what the tests of the algorithms share beside their host: how options
// are tested, and algorithms from which a rule is taken out. Only tests import it.
package lab
