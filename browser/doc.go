// Package browser tests the board in a real browser: a headless Chromium opens the pages of the real program. It is a module of its own, so
// that the product does not depend on a driver of browsers.
package browser
