package main

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// open starts a program that prints the URL of a page, keeps what a path of it answers in a file, and interrupts the program, which must end
// with 0: open FILE PATH PROGRAM ARGS...
func open(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: open FILE PATH PROGRAM ARGS...")
	}
	cmd := exec.Command(args[2], args[3:]...)
	cmd.Dir, cmd.Env = ts.MkAbs("."), append(os.Environ(), "HOME="+ts.Getenv("HOME"), "KUBECONFIG=", "KUBERNETES_SERVICE_HOST=")
	var talk bytes.Buffer
	cmd.Stderr = &talk
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	defer func() { _ = cmd.Process.Kill() }()
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		_ = cmd.Wait()
		ts.Fatalf("no URL is printed: %s", talk.String())
	}
	answer, err := http.Get(strings.TrimSuffix(strings.TrimSpace(url), "/") + args[1])
	ts.Check(err)
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), append([]byte(answer.Status+"\n"), data...), 0o644))
	ts.Check(cmd.Process.Signal(os.Interrupt))
	if err := cmd.Wait(); err != nil {
		ts.Fatalf("%v: %s", err, talk.String())
	}
}
