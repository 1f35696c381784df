package gitremote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/skeema/knownhosts"
	"golang.org/x/crypto/ssh"

	"github.com/argosy-cd/argosy/internal/outgoing"
)

// sshSession talks to git-upload-pack on a server. The library's own does not end with its context while a server is silent.
type sshSession struct {
	conn  net.Conn
	close func() bool
	in    io.WriteCloser
	out   io.Reader
	refs  func() (*packp.AdvRefs, error)
}

func (r *Remote) overSSH(ctx context.Context, u *url.URL, c *Credential) (_ session, err error) {
	if c.sshKey.IsZero() {
		return nil, errors.New("no SSH key of Argo CD is for this repository and project; add a repository Secret with sshPrivateKey")
	}
	signer, err := ssh.ParsePrivateKey([]byte(c.sshKey.Reveal()))
	if err != nil {
		return nil, errors.New("the SSH key in the repository's Secret cannot be read")
	}
	port := u.Port()
	if port == "" {
		port = "22"
	}
	address := net.JoinHostPort(u.Hostname(), port)
	config := &ssh.ClientConfig{User: "git", Auth: []ssh.AuthMethod{ssh.PublicKeys(signer)}}
	if u.User != nil && u.User.Username() != "" {
		config.User = u.User.Username()
	}
	if err := r.hostKeys(ctx, c, address, config); err != nil {
		return nil, err
	}
	conn, err := outgoing.Dialer(0).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, explain(err)
	}
	s := &sshSession{conn: conn, close: context.AfterFunc(ctx, func() { _ = conn.Close() })}
	defer func() {
		if err != nil {
			err = errors.Join(explain(err), s.Close())
		}
	}()
	secure, channels, requests, err := ssh.NewClientConn(conn, address, config)
	if err != nil {
		return nil, err
	}
	shell, err := ssh.NewClient(secure, channels, requests).NewSession()
	if err != nil {
		return nil, err
	}
	if s.in, err = shell.StdinPipe(); err != nil {
		return nil, err
	}
	if s.out, err = shell.StdoutPipe(); err != nil {
		return nil, err
	}
	s.refs = sync.OnceValues(func() (*packp.AdvRefs, error) {
		refs := packp.NewAdvRefs()
		return refs, refs.Decode(io.LimitReader(s.out, maxRefs))
	})
	// Quoted for the shell at the other end: a path is not a command.
	return s, shell.Start("git-upload-pack '" + strings.ReplaceAll(u.Path, "'", `'\''`) + "'")
}

// hostKeys makes a connection trust the keys that Argo CD knows.
func (r *Remote) hostKeys(ctx context.Context, c *Credential, address string, config *ssh.ClientConfig) error {
	if c.insecure {
		config.HostKeyCallback = ssh.InsecureIgnoreHostKey() // the repository's Secret says so
		return nil
	}
	if r.KnownHosts == nil {
		return errors.New("the keys of SSH servers are not known")
	}
	data, err := r.KnownHosts(ctx)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(r.Dir, "known-hosts-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) //nolint:errcheck // it is in our own directory
	if _, err := f.Write(data); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := f.Close(); err != nil {
		return err
	}
	known, err := knownhosts.NewDB(f.Name())
	if err != nil {
		return fmt.Errorf("argocd-ssh-known-hosts-cm: %s", strings.ReplaceAll(err.Error(), filepath.Dir(f.Name())+"/", ""))
	}
	// Ask only for key types in known_hosts; otherwise the server may offer an unknown key.
	config.HostKeyCallback, config.HostKeyAlgorithms = known.HostKeyCallback(), known.HostKeyAlgorithms(address)
	return nil
}

func (s *sshSession) AdvertisedReferencesContext(context.Context) (*packp.AdvRefs, error) {
	return s.refs()
}

func (s *sshSession) UploadPack(ctx context.Context, request *packp.UploadPackRequest) (*packp.UploadPackResponse, error) {
	// The references may have come from another session.
	if _, err := s.refs(); err != nil {
		return nil, err
	}
	if err := request.UploadRequest.Encode(s.in); err != nil {
		return nil, err
	}
	if err := pktline.NewEncoder(s.in).Encodef("done\n"); err != nil {
		return nil, err
	}
	answer := packp.NewUploadPackResponse(request)
	out := s.out
	if a, ok := ctx.Value(allowanceKey{}).(*allowance); ok {
		out = a.reader(out)
	}
	return answer, answer.Decode(io.NopCloser(out))
}

func (s *sshSession) Close() error {
	s.close()
	_ = s.conn.Close()
	return nil
}
