// Command shot writes a picture of a page.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/argosy-cd/argosy/browser/chrome"
)

func main() {
	url, out := flag.String("url", "", "page"), flag.String("out", "shot.png", "file")
	width, height := flag.Int64("width", 1440, "of the window"), flag.Int64("height", 900, "of the window")
	dark := flag.Bool("dark", false, "dark colours")
	eval := flag.String("eval", "", "script to run in the page first")
	wait := flag.Duration("wait", time.Second, "after it")
	flag.Parse()
	if err := run(*url, *out, *width, *height, *dark, *eval, *wait); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(url, out string, width, height int64, dark bool, eval string, wait time.Duration) error {
	profile, err := os.MkdirTemp("", "shot")
	if err != nil {
		return err
	}
	defer os.RemoveAll(profile)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	ctx, stop, err := chrome.Open(ctx, profile)
	if err != nil {
		return err
	}
	defer stop()
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	var picture []byte
	err = chromedp.Run(ctx,
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}),
		chromedp.EmulateViewport(width, height),
		chromedp.Navigate(url), chromedp.WaitVisible(".card, .empty", chromedp.ByQuery),
		chromedp.Evaluate(`(async () => {`+eval+`})()`, nil), chromedp.Sleep(wait), chromedp.CaptureScreenshot(&picture))
	if err != nil {
		return err
	}
	return os.WriteFile(out, picture, 0o644)
}
