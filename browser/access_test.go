package browser

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/emulation"

	"github.com/argosy-cd/argosy/browser/boot"
)

// axeVersion is the version of axe-core that looks for what people cannot see, hear or reach.
const axeVersion = "4.10.3"

// axe returns axe-core, from npm or from the cache. Without both, the test is left out.
func axe(t *testing.T) string {
	t.Helper()
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = os.TempDir()
	}
	file := filepath.Join(dir, "argosy", "axe-"+axeVersion+".js")
	if data, err := os.ReadFile(file); err == nil {
		return string(data)
	}
	temp := t.TempDir()
	cmd := exec.Command("npm", "pack", "--silent", "--pack-destination", temp, "axe-core@"+axeVersion)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("accessibility is not checked: axe-core cannot be fetched with npm: %v %s", err, out)
	}
	data, err := fromArchive(filepath.Join(temp, "axe-core-"+axeVersion+".tgz"), "package/axe.min.js")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err == nil {
		_ = os.WriteFile(file, data, 0o644) // the next run fetches it again
	}
	return string(data)
}

// fromArchive reads one file of a .tgz.
func fromArchive(archive, name string) ([]byte, error) {
	f, err := os.Open(archive)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err != nil {
			return nil, errors.Join(errors.New(name+" is not in the archive"), err)
		}
		if h.Name == name {
			return io.ReadAll(io.LimitReader(r, 16<<20))
		}
	}
}

func TestAccessibility(t *testing.T) {
	script := axe(t)
	url, _ := start(t, "board", "--listen", "127.0.0.1:0", "--recording", recording(t, boot.Options{Apps: 40, Waves: 4, Done: 2, Fail: 22}))
	for _, c := range []struct {
		name          string
		width, height int64
		scheme        string
	}{
		{"light", 1440, 900, "light"}, {"dark", 1440, 900, "dark"}, {"narrow", 390, 800, "light"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := open(t, url, c.width, c.height)
			p.do(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{
				{Name: "prefers-color-scheme", Value: c.scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
			}))
			p.eval(script + "; window.axe = axe")
			look := func(what string) {
				if found := p.eval(`const r = await axe.run(document, { resultTypes: ['violations'] });
					return r.violations.map((v) => v.id + ': ' + v.nodes.slice(0, 3).map((n) => n.target + ' ' + n.failureSummary).join(' | ')).join('\n')`); found != "" {
					t.Errorf("%s:\n%s", what, found)
				}
			}
			look("the board")
			p.click("#b-why")
			p.until(`document.querySelectorAll('#detail h3').length > 0`, "true")
			look("the panel")
			if c.name != "narrow" {
				p.key("t")
				p.until(`document.querySelectorAll('.bar-row').length > 0`, "true")
				look("the time line")
			}
		})
	}
}
