package sourcetest

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The metadata of every repository's commit. With all of it fixed, a repository's files alone decide the commit's hash, so that a case may
// use ARGOCD_APP_REVISION.
const (
	author  = "argosy <argosy@example.com>"
	date    = "1700000000 +0000"
	message = "all"
)

// CommitEnv returns the environment in which `git commit --message=all` makes the commit that Commit returns the hash of.
func CommitEnv() []string {
	name, mail, _ := strings.Cut(strings.TrimSuffix(author, ">"), " <")
	return []string{
		"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=" + name, "GIT_AUTHOR_EMAIL=" + mail, "GIT_AUTHOR_DATE=" + date,
		"GIT_COMMITTER_NAME=" + name, "GIT_COMMITTER_EMAIL=" + mail, "GIT_COMMITTER_DATE=" + date,
	}
}

// Commit returns the hash of the commit that Git makes of a directory in CommitEnv, without running Git. The module conformance/ checks
// that Git agrees.
func Commit(tb testing.TB, dir string) string {
	tb.Helper()
	tree := hex.EncodeToString(treeHash(tb, dir))
	return hex.EncodeToString(object("commit", fmt.Appendf(nil, "tree %s\nauthor %s %s\ncommitter %s %s\n\n%s\n", tree, author, date,
		author, date, message)))
}

// object returns the hash of a Git object.
func object(kind string, data []byte) []byte {
	sum := sha1.Sum(append(fmt.Appendf(nil, "%s %d\x00", kind, len(data)), data...))
	return sum[:]
}

// treeHash returns the hash of the Git tree of a directory. Directories without files do not exist for Git.
func treeHash(tb testing.TB, dir string) []byte {
	tb.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		tb.Fatal(err)
	}
	type entry struct {
		key  string // Git sorts directories as if their names ended in a slash
		data []byte
	}
	var entries []entry
	for _, d := range list {
		file := filepath.Join(dir, d.Name())
		mode, key := "100644", d.Name()
		var hash []byte
		switch {
		case d.IsDir():
			if hash = treeHash(tb, file); hash == nil {
				continue
			}
			mode, key = "40000", key+"/"
		case d.Type()&os.ModeSymlink != 0:
			target, err := os.Readlink(file)
			if err != nil {
				tb.Fatal(err)
			}
			mode, hash = "120000", object("blob", []byte(target))
		default:
			data, err := os.ReadFile(file)
			if err != nil {
				tb.Fatal(err)
			}
			hash = object("blob", data)
			if info, err := d.Info(); err == nil && info.Mode()&0o100 != 0 {
				mode = "100755"
			}
		}
		entries = append(entries, entry{key, append([]byte(mode+" "+d.Name()+"\x00"), hash...)})
	}
	if len(entries) == 0 {
		return nil
	}
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.key, b.key) })
	var data []byte
	for _, e := range entries {
		data = append(data, e.data...)
	}
	return object("tree", data)
}
