package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// server is one way to run a plugin.
type server struct {
	name    string
	sockets map[string]string
	pids    map[string]int
}

// native starts "argosy cmp" with a directory of its own.
func (b *bench) native(name string, flags ...string) (server, error) {
	dir := filepath.Join(b.dir, name)
	s := server{name, map[string]string{}, map[string]int{}}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return s, err
	}
	c := exec.CommandContext(b.ctx, b.argosy, append([]string{"cmp", "--socket-dir", dir, "--listen", "none"}, flags...)...)
	c.Env = b.environment()
	if err := b.start(c); err != nil {
		return s, err
	}
	for _, name := range []string{"appset", "s3"} {
		s.sockets[name], s.pids[name] = filepath.Join(dir, name+".sock"), c.Process.Pid
	}
	return s, awaitSockets(b.ctx, s)
}

func (b *bench) stock() (server, error) {
	dir := filepath.Join(b.dir, "s")
	s := server{"stock", map[string]string{}, map[string]int{}}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return s, err
	}
	for _, name := range []string{"appset", "s3"} {
		config, err := filepath.Abs("../deploy/" + name + "-cmp")
		if err != nil {
			return s, err
		}
		c := exec.CommandContext(b.ctx, b.argocd, "--config-dir-path", config, "--loglevel", "error")
		c.Env = append(b.environment(), "ARGOCD_BINARY_NAME=argocd-cmp-server", "ARGOCD_PLUGINSOCKFILEPATH="+dir,
			"ARGOCD_CMP_WORKDIR="+filepath.Join(b.dir, "work-"+name))
		if err := b.start(c); err != nil {
			return s, err
		}
		s.sockets[name], s.pids[name] = filepath.Join(dir, name+".sock"), c.Process.Pid
	}
	return s, awaitSockets(b.ctx, s)
}

func awaitSockets(ctx context.Context, s server) error {
	for _, socket := range s.sockets {
		for {
			if _, err := os.Stat(socket); err == nil {
				break
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	return nil
}
