package gitsource

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"

	"github.com/argosy-cd/argosy/internal/gittree"
)

// objects reads the objects of a repository by one git process that goes on until it is closed.
type objects struct {
	reading sync.Mutex
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	said    *limitedBuffer // to standard error
}

var errMissing = errors.New("it is not in this clone, which is partial or damaged; nothing is fetched into it")

// blob reads one object.
func (r *repository) blob(ctx context.Context, id string) ([]byte, error) {
	r.reading.Lock()
	defer r.reading.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if r.cmd == nil {
		if err := r.start(); err != nil {
			return nil, commandError(ctx, "cat-file", "", err)
		}
	}
	// A disk may not answer.
	process := r.cmd.Process
	stop := context.AfterFunc(ctx, func() { _ = process.Kill() })
	data, err := r.get(id)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		said := r.said
		r.stop()
		if said.data.Len() > 0 && !errors.Is(err, errMissing) {
			return nil, commandError(ctx, "cat-file", said.String(), err)
		}
		return nil, fmt.Errorf("reading object %s: %w", id, err)
	}
	return data, nil
}

func (r *repository) start() error {
	// The process outlives the first reader's context.
	cmd := r.command(context.Background(), "cat-file", "--batch")
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	said := &limitedBuffer{max: 64 << 10}
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		return err
	}
	r.cmd, r.in, r.out, r.said = cmd, in, bufio.NewReaderSize(out, 64<<10), said
	return nil
}

func (r *repository) get(id string) ([]byte, error) {
	if _, err := io.WriteString(r.in, id+"\n"); err != nil {
		return nil, err
	}
	header, err := r.out.ReadString('\n')
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(header, " missing\n") {
		return nil, errMissing
	}
	var name, kind string
	var size int64
	if n, err := fmt.Sscanf(header, "%s %s %d", &name, &kind, &size); n != 3 || err != nil {
		return nil, fmt.Errorf("git says %q", strings.TrimSpace(header))
	}
	if size > gittree.MaxFileBytes {
		return nil, fmt.Errorf("%d bytes is over the limit of %d", size, int64(gittree.MaxFileBytes))
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(r.out, data); err != nil {
		return nil, err
	}
	_, err = r.out.Discard(1)
	return data, err
}

// stop ends the process. The next object starts another.
func (r *repository) stop() {
	if r.cmd == nil {
		return
	}
	_ = r.in.Close()
	_ = r.cmd.Process.Kill()
	_ = r.cmd.Wait()
	r.cmd = nil
}

// close ends the process after the last reader.
func (t *Tree) close() {
	if t.repo != nil {
		t.repo.reading.Lock()
		defer t.repo.reading.Unlock()
		t.repo.stop()
	}
}
