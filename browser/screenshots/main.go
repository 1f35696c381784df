// Command screenshots writes the pictures of the docs from the demo: board.png, and demo.txt with the end of what the terminal shows.
//
//	screenshots ARGOSY DIR
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/argosy-cd/argosy/browser/chrome"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: screenshots ARGOSY DIR")
		os.Exit(2)
	}
	if err := errors.Join(board(os.Args[1], os.Args[2]), terminal(os.Args[1], os.Args[2])); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// maxPicture bounds the picture, which everybody who opens the README loads.
const maxPicture = 200 << 10

var address = regexp.MustCompile(`http://127\.0\.0\.1:\d+/`)

// board takes a picture of the board while a component blocks the boot.
func board(argosy, dir string) error {
	cmd := exec.Command(argosy, "demo", "--listen", "127.0.0.1:0", "--speed", "100", "--fail", "longhorn")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return err
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	url := ""
	lines := bufio.NewScanner(out)
	for url == "" && lines.Scan() {
		url = address.FindString(lines.Text())
	}
	go func() {
		for lines.Scan() { // so that the demo can go on
		}
	}()
	profile, err := os.MkdirTemp("", "screenshots")
	if err != nil {
		return err
	}
	defer os.RemoveAll(profile)
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	ctx, stop, err := chrome.Open(ctx, profile)
	if err != nil {
		return err
	}
	defer stop()
	var picture []byte
	err = chromedp.Run(ctx, chromedp.EmulateViewport(1440, 760), chromedp.Navigate(url),
		chromedp.WaitVisible(`.lane[data-is="failing"] .card[data-is="failing"]`, chromedp.ByQuery),
		chromedp.Sleep(2*time.Second), chromedp.CaptureScreenshot(&picture))
	if err != nil {
		return err
	}
	if len(picture) > maxPicture {
		return fmt.Errorf("the picture has %d bytes, more than %d", len(picture), maxPicture)
	}
	return os.WriteFile(filepath.Join(dir, "board.png"), picture, 0o644)
}

// terminal keeps the boot that a terminal shows.
func terminal(argosy, dir string) error {
	out, err := exec.Command(argosy, "demo", "--once", "--speed", "1000", "--fail", "longhorn", "--repair-after", "40s").Output()
	if err != nil {
		return fmt.Errorf("argosy demo: %w", err)
	}
	_, text, found := strings.Cut(string(out), "\nBOOT")
	if !found {
		return errors.New("argosy demo prints no boot")
	}
	return os.WriteFile(filepath.Join(dir, "demo.txt"), []byte(stable("$ argosy demo --fail longhorn --repair-after 40s\n…\nBOOT"+text)), 0o644)
}

// stable is what is the same each time: the boot. How long plugins take differs, and clocks tick with commits of the day.
func stable(text string) string {
	var out strings.Builder
	for line := range strings.Lines(regexp.MustCompile(` \(\d+m?s\)`).ReplaceAllString(text, "")) {
		if strings.Contains(line, " ticked: ") {
			continue
		}
		out.WriteString(line)
		if strings.Contains(line, " is booted: ") {
			break
		}
	}
	return out.String()
}
