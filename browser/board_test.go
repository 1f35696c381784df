package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/argosy-cd/argosy/browser/boot"
)

// lanes are the states of the waves.
const lanes = `[...document.querySelectorAll('.lane')].map((l) => l.dataset.is).join(' ')`

// visible is how many cards are shown.
const visible = `[...document.querySelectorAll('.lane .card')].filter((c) => c.offsetParent).length`

func TestDemoBoots(t *testing.T) {
	url, _ := start(t, "demo", "--listen", "127.0.0.1:0", "--speed", "60")
	p := open(t, url, 1440, 900)
	p.until(lanes, "healthy healthy healthy healthy healthy healthy")
	if got := p.text("#headline"); !strings.Contains(got, "All 30 Applications are healthy") {
		t.Errorf("the headline is %q", got)
	}
	if got := p.eval(`return document.querySelectorAll('.card:not([data-is="healthy"])').length`); got != "0" {
		t.Errorf("%s cards are not healthy", got)
	}
	// What the page shows is what the server says.
	if got := strings.Count(get(t, url+"api/scene"), `"key":`); got != 30 {
		t.Errorf("the server has %d Applications", got)
	}
}

func TestBlocker(t *testing.T) {
	url, _ := start(t, "demo", "--listen", "127.0.0.1:0", "--speed", "60", "--fail", "longhorn")
	p := open(t, url, 1440, 900)
	p.until(`document.querySelector('#headline').textContent.startsWith('longhorn blocks the boot')`, "true")
	p.until(lanes, "healthy failing waiting waiting waiting waiting")
	if p.eval(`return document.querySelector('[data-key="argocd/root"]').dataset.is`) != "blocked" {
		t.Error("the root is not blocked")
	}
	p.click("#b-why")
	p.until(`document.querySelector('.cause')?.textContent.includes('is Degraded')`, "true")
	if got := p.text("#detail h2"); got != "longhorn" {
		t.Errorf("the panel is about %q", got)
	}
	// One that waits is led to the cause.
	p.click(`[data-key="argocd/pvc-plumber"]`)
	p.until(`[...document.querySelectorAll('.chain li')].map((l) => l.querySelector('b, button').textContent).join(' ')`, "pvc-plumber root longhorn")
	p.click(`[data-key="argocd/longhorn"]`)
	p.until(`document.querySelector('#b-fault').textContent`, "Repair it")
	p.click("#b-fault")
	p.until(lanes, "healthy healthy healthy healthy healthy healthy")
}

func TestScrub(t *testing.T) {
	url, _ := start(t, "board", "--listen", "127.0.0.1:0", "--recording", recording(t, boot.Options{Apps: 60, Waves: 4, Done: 4, Fail: -1}))
	p := open(t, url, 1440, 900)
	p.until(lanes, "healthy healthy healthy healthy")
	move := func(value string) {
		p.eval(`const s = document.getElementById('scrub'); s.value = '` + value + `'; s.dispatchEvent(new Event('input'))`)
	}
	move("0")
	p.until(lanes, "waiting waiting waiting waiting")
	move("300")
	p.until(lanes, "healthy running waiting waiting")
	// The address keeps the moment.
	p.until(`/[?&]t=5\d/.test(location.search)`, "true")
	p.do(chromedp.Reload(), chromedp.WaitVisible(".card", chromedp.ByQuery))
	p.until(lanes, "healthy running waiting waiting")
	p.click("#b-gantt")
	p.until(`document.querySelectorAll('.bar-row').length > 5`, "true")
	p.until(`document.querySelector('#gantt-title').textContent.startsWith('Critical path: ')`, "true")
	p.click("#b-now")
	p.until(lanes, "healthy healthy healthy healthy")
	// Replay begins at the beginning and ends at the end.
	p.eval(`document.getElementById('speed').value = '60'; document.getElementById('speed').dispatchEvent(new Event('change'))`)
	p.click("#b-play")
	p.until(lanes, "healthy healthy running waiting")
	p.until(lanes, "healthy healthy healthy healthy")
	p.until(`document.getElementById('play-text').textContent`, "Play")
}

func TestSearch(t *testing.T) {
	url, _ := start(t, "board", "--listen", "127.0.0.1:0", "--recording", recording(t, boot.Options{Apps: 60, Waves: 4, Done: 2, Fail: 31}))
	p := open(t, url, 1440, 900)
	p.until(visible, "56")
	p.do(chromedp.SendKeys("#q", "LONGHORN", chromedp.ByQuery))
	p.until(`[...document.querySelectorAll('.lane .leaf')].filter((c) => c.offsetParent).every((c) => c.dataset.key.includes('longhorn'))`, "true")
	p.until(`document.getElementById('matches').textContent`, "3 of 57")
	p.until(`location.search`, "?q=longhorn")
	p.do(chromedp.Reload(), chromedp.WaitVisible(".card", chromedp.ByQuery))
	p.until(`document.getElementById('matches').textContent`, "3 of 57")
	p.key(kb.Escape)
	p.until(visible, "56")
	p.eval(`[...document.querySelectorAll('.count')].find((c) => c.dataset.is === 'failing').click()`)
	p.until(visible, "1")
	p.eval(`[...document.querySelectorAll('.count')].find((c) => c.dataset.is === 'failing').click()`)
	p.eval(`const s = document.getElementById('f-wave'); s.value = '1'; s.dispatchEvent(new Event('change'))`)
	p.until(`[...document.querySelectorAll('.lane')].filter((l) => l.offsetParent).length`, "1")
	p.eval(`const s = document.getElementById('f-wave'); s.value = ''; s.dispatchEvent(new Event('change'))`)
	p.eval(`const s = document.getElementById('f-project'); s.value = 'data'; s.dispatchEvent(new Event('change'))`)
	p.until(`document.getElementById('matches').textContent === ''`, "false")
}

func TestKeyboard(t *testing.T) {
	url, _ := start(t, "board", "--listen", "127.0.0.1:0", "--recording", recording(t, boot.Options{Apps: 24, Waves: 4, Done: 2, Fail: 13}))
	p := open(t, url, 1440, 900)
	focus := `document.activeElement.dataset.key || document.activeElement.id`
	// The cards are one stop of the tabulator; arrows move between them.
	if got := p.eval(`return document.querySelectorAll('.card[tabindex="0"]').length`); got != "1" {
		t.Errorf("%s cards are stops of the tabulator", got)
	}
	p.eval(`document.querySelector('.card[tabindex="0"]').focus()`)
	p.until(focus, "argocd/root")
	p.key(kb.ArrowDown)
	first := p.eval("return " + focus)
	p.key(kb.ArrowDown)
	second := p.eval("return " + focus)
	p.key(kb.ArrowRight)
	right := p.eval("return " + focus)
	if first == second || right == second || !strings.HasPrefix(right, "argocd/") {
		t.Errorf("%s, down %s, right %s", first, second, right)
	}
	p.key(kb.ArrowLeft)
	p.until(focus, second)
	p.key(kb.Enter)
	p.until(`document.querySelector('#detail h2').textContent`, strings.TrimPrefix(second, "argocd/"))
	p.key(kb.Escape)
	p.until(`document.getElementById('detail').hidden`, "true")
	p.until(focus, second)
	p.key("b")
	p.until(`document.querySelector('#detail .state-line').dataset.is`, "failing")
	p.key("/")
	p.until(focus, "q")
	p.key("t") // it is typed
	p.until(`document.getElementById('q').value.endsWith('t') && document.getElementById('gantt').hidden`, "true")
	p.key(kb.Escape)
	p.key(kb.Escape)
	p.key("?")
	p.until(`document.getElementById('dialog').open`, "true")
	p.key(kb.Escape)
	p.until(`document.getElementById('dialog').open`, "false")
	p.key("[")
	p.until(`document.getElementById('b-now').getAttribute('aria-pressed')`, "false")
	p.key("n")
	p.until(`document.getElementById('b-now').getAttribute('aria-pressed')`, "true")
	p.key("d")
	p.until(`document.documentElement.dataset.theme`, "dark")
	p.key("d")
}

func TestReconnect(t *testing.T) {
	at := free(t)
	args := []string{"board", "--listen", at, "--recording", recording(t, boot.Options{Apps: 20, Waves: 2, Done: 1, Fail: -1})}
	url, stop := start(t, args...)
	p := open(t, url, 1440, 900)
	p.until(`document.getElementById('notice').hidden`, "true")
	stop()
	p.until(`document.documentElement.hasAttribute('data-stale') && !document.getElementById('notice').hidden`, "true")
	p.until(visible, "20")
	p.until(`document.getElementById('mode').textContent`, "stale")
	// What cannot be asked now is asked again, without another selection.
	p.click(".lane .leaf")
	p.until(`[...document.querySelectorAll('#detail .soft')].some((e) => e.textContent.includes('fetch'))`, "true")
	start(t, args...)
	p.until(`[...document.querySelectorAll('#detail .soft')].some((e) => e.textContent.includes('fetch'))`, "false")
	p.until(`document.getElementById('notice').hidden`, "true")
	p.until(`document.getElementById('mode').textContent`, "recording")
	p.until(visible, "20")
}

func TestToken(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	write := func(token string) {
		if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("correct-horse-battery")
	args := []string{"board", "--listen", free(t), "--token-file", file, "--recording", recording(t, boot.Options{Apps: 10, Waves: 2, Done: 2, Fail: -1})}
	url, stop := start(t, args...)
	ctx, cancel := chromedp.NewContext(tab)
	defer cancel()
	p := &page{t, ctx}
	p.do(chromedp.Navigate(url), chromedp.WaitVisible("#token", chromedp.ByQuery), chromedp.SendKeys("#token", "wrong"+kb.Enter, chromedp.ByQuery))
	p.until(`document.querySelector('#dialog [role=alert]').textContent`, "wrong token")
	if p.eval(`return document.querySelectorAll('.card').length`) != "0" {
		t.Error("Applications are shown to everybody")
	}
	p.do(chromedp.SendKeys("#token", "correct-horse-battery"+kb.Enter, chromedp.ByQuery), chromedp.WaitVisible(".card", chromedp.ByQuery))
	// Somebody who may not look any more keeps nothing.
	stop()
	write("another-horse-battery")
	start(t, args...)
	p.do(chromedp.WaitVisible("#token", chromedp.ByQuery))
	if got := p.eval(`return document.querySelectorAll('.card').length + ' ' + document.getElementById('f-project').textContent + document.title`); got != "0 All projectsArgosy" {
		t.Errorf("the page still has %q", got)
	}
}

func TestPlan(t *testing.T) {
	const cluster = "../examples/cluster"
	url, _ := start(t, "board", "--listen", "127.0.0.1:0", "--offline", "--repo", "https://git.example.com/home/cluster.git="+cluster,
		cluster+"/infrastructure/controllers/argocd/root.yaml")
	p := open(t, url, 1440, 900)
	p.until(lanes, "planned planned planned planned planned planned")
	p.until(`document.querySelector('#headline').textContent.startsWith('29 Applications will boot in about')`, "true")
	// A plan has nothing to play.
	p.until(`['b-play', 'speed', 'b-now'].filter((id) => document.getElementById(id).offsetParent).join()`, "")
	// What lint finds is listed, and leads to its Application.
	p.key("f")
	p.until(`document.querySelector('#dialog h2')?.textContent.endsWith(' findings')`, "true")
	p.eval(`[...document.querySelectorAll('#dialog .link')].find((b) => b.textContent === 'monitoring').click()`)
	p.until(`document.querySelector('#detail h2')?.textContent`, "monitoring")
	p.until(`document.querySelector('#detail .finding .place')?.textContent.startsWith('set-does-not-gate · ')`, "true")
	p.until(`document.querySelector('#detail .spec')?.textContent.includes('kind: ApplicationSet')`, "true")
}

// TestNames looks at names that begin alike: they are whole where there is room, and their end is seen where there is none.
func TestNames(t *testing.T) {
	name := func(i int) string {
		return fmt.Sprintf("platform-production-eu-%s-%04d", []string{"frontend", "api"}[i%2], i)
	}
	for _, c := range []struct {
		apps  int
		width int64
		cut   string
	}{{10, 1440, "false"}, {100, 1440, "false"}, {100, 390, "false"}, {500, 1440, "true"}} {
		url, stop := start(t, "board", "--listen", "127.0.0.1:0", "--recording", recording(t, boot.Options{Apps: c.apps, Waves: 5, Done: 2, Fail: -1, Name: name}))
		p := open(t, url, c.width, 900)
		p.until(`[...document.querySelectorAll('.lane .leaf .name')].some((n) => n.scrollHeight > n.clientHeight + 2 || n.firstChild.scrollWidth > n.firstChild.clientWidth + 2 && getComputedStyle(n).display === 'flex')`, c.cut)
		if got := p.eval(`return [...document.querySelectorAll('.lane .leaf .tail')].filter((n) => n.offsetParent && n.getBoundingClientRect().right > n.closest('.card').getBoundingClientRect().right + 1).length`); got != "0" {
			t.Errorf("%d Applications, %d px: the ends of %s names are not seen", c.apps, c.width, got)
		}
		stop()
	}
}
