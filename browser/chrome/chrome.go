// Package chrome starts a headless Chromium for tests and pictures.
package chrome

import (
	"context"
	"errors"
	"os/exec"

	"github.com/chromedp/chromedp"
)

// ErrNone says what to install.
var ErrNone = errors.New("there is no Chromium; install it, on Debian: apt-get install chromium")

// Find returns the program.
func Find() (string, error) {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if file, err := exec.LookPath(name); err == nil {
			return file, nil
		}
	}
	return "", ErrNone
}

// Open starts a browser with a profile in a directory. It ends with the context that it returns.
func Open(ctx context.Context, profile string) (context.Context, context.CancelFunc, error) {
	program, err := Find()
	if err != nil {
		return nil, nil, err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program), chromedp.UserDataDir(profile), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("hide-scrollbars", true))
	ctx, stop := chromedp.NewExecAllocator(ctx, options...)
	ctx, cancel := chromedp.NewContext(ctx)
	if err := chromedp.Run(ctx); err != nil {
		cancel()
		stop()
		return nil, nil, err
	}
	return ctx, func() { cancel(); stop() }, nil
}
