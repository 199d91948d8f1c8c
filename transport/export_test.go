package transport

// SetAddr writes one address into the address book; an empty one removes it.
func (t *Transport) SetAddr(id ID, addr string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.peerOf(id)
	p.addr = addr
	t.forget(p)
}
