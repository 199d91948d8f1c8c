package disk

import "os"

// CheckSecrecy returns an error if other users can read or write an open file. The error says what
// the mode is, what it must be, and which command mends it.
func CheckSecrecy(file *os.File) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	return checkSecrecy(file.Name(), info)
}
