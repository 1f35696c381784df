package problem

import (
	"errors"
	"fmt"
	"io/fs"
)

// Innermost returns the error that all others wrap, such as "permission denied".
func Innermost(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}

// File puts the file of an error in front and drops the name of the system call: "x.yaml: permission denied". Other errors stay as they are.
func File(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return fmt.Errorf("%s: %w", pe.Path, pe.Err)
	}
	return err
}
