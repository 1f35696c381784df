package kube

import (
	"encoding/json"
	"errors"
)

// space is the texts of a ConfigMap. All projects share it: when it is full, the project with the most text gives way to those with less,
// and gets no more. So no project can keep others from being published, and a cluster with one project may use all of it.
type space struct {
	texts map[string]string // by key
	size  int
	// These are known once it was full.
	owners   map[string]string // projects by key
	projects map[string]int    // bytes by project
}

// put writes a text, and returns the keys that it has removed for that.
func (s *space) put(key, text, project string) (evicted []string, err error) {
	more := len(key) + len(text)
	if old, ok := s.texts[key]; ok {
		more = len(text) - len(old)
	}
	if more > 0 && s.size+more > maxReadsMap {
		if evicted, err = s.evict(s.size+more-maxReadsMap, more, project); err != nil {
			return nil, err
		}
	}
	s.remove(key)
	s.texts[key] = text
	s.size += len(key) + len(text)
	if s.owners != nil {
		s.owners[key] = project
		s.projects[project] += len(key) + len(text)
	}
	return evicted, nil
}

func (s *space) remove(key string) {
	text, ok := s.texts[key]
	if !ok {
		return
	}
	size := len(key) + len(text)
	s.size -= size
	delete(s.texts, key)
	if s.owners != nil {
		s.projects[s.owners[key]] -= size
		delete(s.owners, key)
	}
}

// evict removes texts until there is room: always the largest of the project that has the most, as long as that is more than this project
// will have. It removes none if that is not enough.
func (s *space) evict(room, more int, project string) (evicted []string, err error) {
	s.count()
	mine, excess := s.projects[project]+more, 0
	for p, size := range s.projects {
		if p != project {
			excess += max(0, size-mine)
		}
	}
	if excess < room {
		return nil, errors.New("the ConfigMap is full, and evicting larger projects would not free enough space; read fewer paths of S3 " +
			"in this project")
	}
	for until := s.size - room; s.size > until; {
		largest, most := "", mine
		for p, size := range s.projects {
			if p != project && (size > most || size == most && size > mine && p < largest) {
				largest, most = p, size
			}
		}
		key, length := "", -1
		for k, owner := range s.owners {
			if n := len(s.texts[k]); owner == largest && owner != project && (n > length || n == length && k < key) {
				key, length = k, n
			}
		}
		s.remove(key)
		evicted = append(evicted, key)
	}
	return evicted, nil
}

// count finds out which project has how much.
func (s *space) count() {
	if s.owners != nil {
		return
	}
	s.owners, s.projects = map[string]string{}, map[string]int{}
	for key, text := range s.texts {
		s.owners[key] = projectOf(text)
		s.projects[s.owners[key]] += len(key) + len(text)
	}
}

// projectOf is the project of a published text. Older versions wrote none.
func projectOf(text string) string {
	var r struct {
		Project string `json:"project"`
	}
	_ = json.Unmarshal([]byte(text), &r)
	return r.Project
}
