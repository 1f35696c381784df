//go:build linux && !amd64 && !arm64

package worker

import (
	"errors"
)

func filterCalls() error { return errors.New("there is none for this processor") }
