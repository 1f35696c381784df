package browser

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"image/color"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	cdp "github.com/chromedp/cdproto/browser"

	"github.com/argosy-cd/argosy/browser/boot"
)

// download clicks on an entry of the export menu, and returns the file.
func (p *page) download(dir, kind string) string {
	p.t.Helper()
	p.click("#b-export")
	p.until(`document.getElementById('export').hidden`, "false")
	p.click(`[data-export="` + kind + `"]`)
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		found, _ := filepath.Glob(filepath.Join(dir, "*."+kind))
		partial, _ := filepath.Glob(filepath.Join(dir, "*.crdownload"))
		if len(found) == 1 && len(partial) == 0 {
			if info, err := os.Stat(found[0]); err == nil && info.Size() > 0 {
				return found[0]
			}
		}
	}
	p.t.Fatalf("no %s is downloaded", kind)
	return ""
}

// TestExport opens what is downloaded.
func TestExport(t *testing.T) {
	const title = `root`
	url, _ := start(t, "board", "--listen", "127.0.0.1:0", "--recording", recording(t, boot.Options{Apps: 60, Waves: 4, Done: 2, Fail: 31}))
	p := open(t, url, 1440, 900)
	dir := t.TempDir()
	p.do(cdp.SetDownloadBehavior(cdp.SetDownloadBehaviorBehaviorAllow).WithDownloadPath(dir))

	file := p.download(dir, "json")
	if !strings.HasPrefix(filepath.Base(file), title+"-") {
		t.Errorf("the file is %s", file)
	}
	var saved map[string]any
	var served struct{ Scene map[string]any }
	data, err := os.ReadFile(file)
	if err := errors.Join(err, json.Unmarshal(data, &saved), json.Unmarshal([]byte(get(t, url+"api/scene")), &served)); err != nil {
		t.Fatal(err)
	}
	if saved["shown"] != served.Scene["now"] {
		t.Errorf("it shows %v, not %v", saved["shown"], served.Scene["now"])
	}
	delete(saved, "shown")
	if !reflect.DeepEqual(saved, served.Scene) {
		t.Error("the JSON is not what the server has")
	}

	width, height := picture(t, p.download(dir, "svg"))
	f, err := os.Open(p.download(dir, "png"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	image, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	if b := image.Bounds(); b.Dx() != 2*width || b.Dy() != 2*height {
		t.Errorf("the PNG has %v, the SVG %d × %d", b, width, height)
	}
	colors := map[color.Color]bool{}
	for x := range image.Bounds().Dx() {
		colors[image.At(x, image.Bounds().Dy()/2)] = true
	}
	if len(colors) < 4 {
		t.Errorf("the PNG has %d colours in its middle", len(colors))
	}
}

// picture reads an SVG: it is well-formed, has each Application with its state, and nothing that runs or loads. It returns its size.
func picture(t *testing.T, file string) (width, height int) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	titles := 0
	for d := xml.NewDecoder(f); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		e, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		switch e.Name.Local {
		case "svg", "rect", "text", "circle", "title":
		default:
			t.Errorf("there is a %s", e.Name.Local)
		}
		if e.Name.Local == "title" {
			titles++
		}
		for _, a := range e.Attr {
			if strings.HasPrefix(a.Name.Local, "on") || strings.Contains(a.Name.Local, "href") || a.Name.Local == "style" {
				t.Errorf("%s has %s", e.Name.Local, a.Name.Local)
			}
			if n, err := strconv.Atoi(a.Value); err == nil && e.Name.Local == "svg" && a.Name.Local == "width" {
				width = n
			} else if err == nil && e.Name.Local == "svg" && a.Name.Local == "height" {
				height = n
			}
		}
	}
	if width < 800 || height < 300 || titles < 50 {
		t.Errorf("%d × %d with %d Applications", width, height, titles)
	}
	return width, height
}
