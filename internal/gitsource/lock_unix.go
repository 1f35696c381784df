//go:build unix

package gitsource

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"

	"github.com/argosy-cd/argosy/internal/retry"
)

// lockFile waits for the lock on a file. The system releases the lock when the process ends.
func lockFile(ctx context.Context, path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			_ = f.Close()
			return nil, err
		}
		if !retry.Wait(ctx, time.After(lockPoll)) {
			_ = f.Close()
			return nil, context.Cause(ctx)
		}
	}
}
