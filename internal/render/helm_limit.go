package render

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/tree"
	"github.com/argosy-cd/argosy/internal/words"
)

// chartSize counts the files that Helm will load: a chart, its dependencies and the archives in it.
type chartSize struct {
	files int
	bytes int64
}

// boundChart refuses a chart that is too large when all archives in it are unpacked, and YAML in it that is too large when it is decoded.
// Helm bounds each archive alone. Files that it cannot read are left to Helm.
func boundChart(files []tree.File) error {
	var size chartSize
	for _, f := range files {
		if err := size.add(f.Name, f.Data, 0); err != nil {
			return err
		}
	}
	return nil
}

// decodedByHelm are the files of a chart that Helm decodes.
var decodedByHelm = map[string]bool{
	"Chart.yaml": true, "Chart.lock": true, "values.yaml": true, "requirements.yaml": true,
	"requirements.lock": true,
}

func (s *chartSize) add(name string, data []byte, depth int) error {
	if err := s.count(int64(len(data))); err != nil {
		return err
	}
	base := path.Base(name)
	if decodedByHelm[base] {
		if err := manifest.Check(data); err != nil {
			return fmt.Errorf("%s: %w", shorten(name), err)
		}
	}
	if dir := path.Dir(name); path.Ext(base) != ".tgz" || path.Base(dir) != "charts" {
		return nil
	}
	if depth == maxArchives {
		return fmt.Errorf("%s: archives are nested more than %d deep", shorten(name), maxArchives)
	}
	return s.archive(data, depth+1)
}

func (s *chartSize) count(bytes int64) error {
	s.files++
	s.bytes += bytes
	switch {
	case s.files > maxChartFiles:
		return fmt.Errorf("with its dependencies the chart has more than %d files", maxChartFiles)
	case s.bytes > maxChartBytes:
		return fmt.Errorf("with its dependencies the chart is over the limit of %d bytes", int64(maxChartBytes))
	}
	return nil
}

// archive adds the files of an archive. It keeps only the ones that it must inspect.
func (s *chartSize) archive(data []byte, depth int) error {
	unzipped, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil // Helm says so
	}
	t := tar.NewReader(io.LimitReader(unzipped, maxChartBytes+maxChartFiles*2048))
	for {
		h, err := t.Next()
		if err != nil {
			return nil // the end, or Helm says so
		}
		name := strings.ReplaceAll(h.Name, `\`, "/")
		if base := path.Base(name); !decodedByHelm[base] && path.Ext(base) != ".tgz" {
			if err := s.count(h.Size); err != nil {
				return err
			}
			continue
		}
		if h.Size > maxChartBytes {
			return s.count(h.Size)
		}
		content, err := io.ReadAll(t)
		if err != nil {
			return nil // likewise
		}
		if err := s.add(name, content, depth); err != nil {
			return err
		}
	}
}

// boundIgnore refuses rules of .helmignore that take too long for as many files.
func boundIgnore(rules []byte, files []tree.File) error {
	lines, names := 1+bytes.Count(rules, []byte("\n")), 0
	for _, f := range files {
		names += 1 + strings.Count(f.Name, "/")
	}
	if len(rules) > 1<<20 || names > maxIgnoreWork/lines {
		return fmt.Errorf("%d rules are too many for %d files", lines, len(files))
	}
	return nil
}

var indexed = regexp.MustCompile(`\[(\d+)\]`)

// boundIndexes refuses parameters that make lists which are too long.
func boundIndexes(sets []Set) error {
	sum := 0
	for _, s := range sets {
		for _, m := range indexed.FindAllStringSubmatch(s.Name+"="+s.Value, -1) {
			n, err := strconv.Atoi(m[1])
			if err != nil || n > 65536 {
				continue // Helm refuses it
			}
			if sum += n; sum > maxIndexes {
				return fmt.Errorf("parameter %s: the indexes of all parameters are over the limit of %d", shorten(s.Name), maxIndexes)
			}
		}
	}
	return nil
}

// shorten keeps a name from filling a message.
func shorten(name string) string { return words.Shorten(name, 120) }
