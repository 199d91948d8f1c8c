//go:build !unix

package disk

// On this system the open of a file does not wait for another process.
const nonblock = 0
