package membership

// rule is one of the rules in the package comment. Tests switch rules off, to prove that each is
// needed. A node has them all.
type rule uint32

const (
	r2 rule = 1 << iota
	r3
	r4
	r5
	r6
	r6Lazy
	r7
	r8
	r9
	r10
	r11
	r12
	r13
	r14
	r15
	r16
	r17
	r18
	r19
	r20
	r21
	f1
	f2
	f3
)

// keeps reports whether r is switched on.
func (m *Dynamic) keeps(r rule) bool { return m.without&r == 0 }
