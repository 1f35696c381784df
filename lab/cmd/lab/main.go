// Command lab runs a lab for people: "lab up" starts one in the background and says how to use it, "lab down" ends it.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/argosy-cd/argosy/lab"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		stop()
		os.Exit(1)
	}
}

const usage = "usage: lab up | down | status | build | s3cat BUCKET KEY"

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New(usage)
	}
	switch args[0] {
	case "up":
		return up(ctx)
	case "down":
		return down()
	case "status":
		s, err := readState()
		if err != nil {
			return err
		}
		s.print()
		return nil
	case "build":
		_, err := lab.Build(ctx, os.Stderr)
		return err
	case "serve":
		return serve(ctx)
	case "s3cat":
		// For plugins of tests: they get the server from their environment.
		if len(args) != 3 {
			return errors.New(usage)
		}
		client := lab.S3Client(os.Getenv("LAB_S3_ENDPOINT"), os.Getenv("LAB_S3_ACCESS_KEY"), os.Getenv("LAB_S3_SECRET_KEY"))
		return lab.Cat(ctx, client, args[1], args[2], os.Stdout)
	default:
		return errors.New(usage)
	}
}

// state is what a running lab tells about itself.
type state struct {
	PID         int
	Dir         string
	Kubeconfig  string
	ArgoCDURL   string
	ArgoCDToken string
	S3Endpoint  string
	S3AccessKey string
	S3SecretKey string
	GitURL      string
}

func (s state) print() {
	fmt.Printf(`
export KUBECONFIG=%s
export ARGOCD_SERVER=%s ARGOCD_AUTH_TOKEN=%s
export AWS_ENDPOINT_URL=%s AWS_ACCESS_KEY_ID=%s AWS_SECRET_ACCESS_KEY=%s AWS_REGION=us-east-1

Argo CD:  %s (account lab, token above)
S3:       %s
Git:      %s/lab.git (clone it, push to it)
Logs:     %s
Stop:     make lab-down
`, s.Kubeconfig, s.ArgoCDURL, s.ArgoCDToken, s.S3Endpoint, s.S3AccessKey, s.S3SecretKey, s.ArgoCDURL, s.S3Endpoint, s.GitURL,
		filepath.Join(s.Dir, "log"))
}

// home is the folder of the lab for people.
func home() (string, error) {
	cache, err := os.UserCacheDir()
	return filepath.Join(cache, "argosy-lab", "running"), err
}

func readState() (state, error) {
	var s state
	dir, err := home()
	if err != nil {
		return s, err
	}
	data, err := os.ReadFile(filepath.Join(dir, "state.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return s, errors.New("no lab is running")
	}
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return s, err
	}
	if held, err := lock(dir); err == nil {
		held.Close()
		return s, errors.New("no lab is running")
	}
	return s, nil
}

// lock marks the folder as that of a running lab until this process ends, however it does.
func lock(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// up starts a lab in a process of its own, in a session of its own, so that it outlives this one.
func up(ctx context.Context) error {
	if s, err := readState(); err == nil {
		fmt.Println("a lab is running already")
		s.print()
		return nil
	}
	dir, err := home()
	if err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	// Built here, so that the progress is seen.
	if _, err := lab.Build(ctx, os.Stderr); err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(dir, "lab.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, "serve")
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case <-ctx.Done():
			_ = cmd.Process.Signal(syscall.SIGTERM)
			return ctx.Err()
		case err := <-ended:
			data, _ := os.ReadFile(log.Name())
			return fmt.Errorf("the lab did not start: %w\n%s", err, data)
		case <-time.After(100 * time.Millisecond):
		}
		if s, err := readState(); err == nil {
			s.print()
			return nil
		}
	}
}

func serve(ctx context.Context) error {
	dir, err := home()
	if err != nil {
		return err
	}
	held, err := lock(dir)
	if err != nil {
		return fmt.Errorf("another lab is starting: %w", err)
	}
	defer held.Close()
	l, err := lab.Start(ctx, lab.Config{Dir: filepath.Join(dir, "files"), Progress: os.Stderr})
	if err != nil {
		return err
	}
	defer l.Stop()
	repo, err := l.Repo(ctx, "lab")
	if err != nil {
		return err
	}
	data, err := json.Marshal(state{
		PID: os.Getpid(), Dir: l.Dir, Kubeconfig: l.Kubeconfig, ArgoCDURL: l.ArgoCDURL, ArgoCDToken: l.ArgoCDToken,
		S3Endpoint: l.S3Endpoint, S3AccessKey: l.S3AccessKey, S3SecretKey: l.S3SecretKey, GitURL: strings.TrimSuffix(repo.URL, "/lab.git"),
	})
	if err != nil {
		return err
	}
	temp := filepath.Join(dir, "state.tmp")
	if err := os.WriteFile(temp, data, 0o600); err != nil {
		return err
	}
	if err := os.Rename(temp, filepath.Join(dir, "state.json")); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

func down() error {
	s, err := readState()
	if err != nil {
		return err
	}
	if err := syscall.Kill(s.PID, syscall.SIGTERM); err != nil {
		return err
	}
	dir, err := home()
	if err != nil {
		return err
	}
	for range 300 {
		if held, err := lock(dir); err == nil {
			defer held.Close()
			return os.RemoveAll(dir)
		}
		time.Sleep(100 * time.Millisecond)
	}
	return fmt.Errorf("the lab (process %d) does not end", s.PID)
}
