package job

import (
	"context"
	"io/fs"
	"path"

	"github.com/argosy-cd/argosy/internal/appsetplugin"
	"github.com/argosy-cd/argosy/internal/archive"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/bucket"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/s3source"
	"github.com/argosy-cd/argosy/internal/s3source/triggerfile"
	"github.com/argosy-cd/argosy/internal/tree"
	"github.com/argosy-cd/argosy/internal/worker"
)

// S3 is an application of the s3 plugin.
type S3 struct {
	Call argo.Call
	// Dir is its directory in the repository.
	Dir     string
	Archive appsetplugin.Archive
	Doing   func(string)

	file string // of the trigger, for messages
	text []byte
}

// ofS3 is the head of a job for the s3 plugin.
type ofS3 struct {
	Call argo.Call `json:"call"`
	Dir  string    `json:"dir"`
	File string    `json:"file,omitempty"`
	// Fetched are the files of each source, without their content.
	Fetched []snapshot `json:"fetched,omitempty"`
}

type snapshot struct {
	Single bool     `json:"single"`
	Names  []string `json:"names"`
}

// trigger is the head of the answer about a trigger file: its name and its sources. Its blob is the file itself.
type trigger struct {
	File    string          `json:"file"`
	Sources s3source.Places `json:"sources"`
}

func (s *S3) answer(_ context.Context, ask worker.Question, m worker.Message) (worker.Message, error) {
	if ask != askArchive {
		return worker.Message{}, errAnswer
	}
	return readArchive(s.Archive, m)
}

// Sources reads the trigger file of an application, and returns its name and the places of its sources, without how they are rendered.
func (w Workers) Sources(ctx context.Context, s *S3) (file string, list []triggerfile.Source, err error) {
	m, err := worker.NewMessage(ofS3{Call: s.Call, Dir: s.Dir})
	if err != nil {
		return "", nil, err
	}
	m, err = w.Pool.Do(ctx, worker.Job{
		Kind: kindSources, What: "reading " + triggerfile.Name, Message: m, Doing: s.Doing, Answer: s.answer,
		Owner: s.Call.Project,
	})
	if err != nil {
		return "", nil, err
	}
	var t trigger
	if err := m.Decode(&t); err != nil || len(m.Blobs) != 1 {
		return "", nil, errAnswer
	}
	s.file, s.text = t.File, m.Blobs[0]
	list, err = t.Sources.Parse(t.File)
	return t.File, list, err
}

// Render renders the fetched sources.
func (w Workers) Render(ctx context.Context, s *S3, fetched []s3source.Fetched) ([]manifest.Object, error) {
	head := ofS3{Call: s.Call, Dir: s.Dir, File: s.file}
	blobs := [][]byte{s.text}
	for _, f := range fetched {
		head.Fetched = append(head.Fetched, snapshot{f.Snapshot.Single, tree.Names(f.Snapshot.Files)})
		for _, file := range f.Snapshot.Files {
			blobs = append(blobs, file.Data)
		}
	}
	m, err := worker.NewMessage(head, blobs...)
	if err != nil {
		return nil, err
	}
	m, err = w.Pool.Do(ctx, worker.Job{
		Kind: kindRender, What: "rendering what is in S3", Message: m, Doing: s.Doing, Answer: s.answer,
		Cost: costOfObjects, Owner: s.Call.Project,
	})
	if err != nil {
		return nil, err
	}
	return decodeObjects(m)
}

// decodeObjects reads an answer that is one blob with objects, and that costOfObjects has accepted.
func decodeObjects(m worker.Message) ([]manifest.Object, error) {
	if len(m.Blobs) != 1 {
		return nil, errAnswer
	}
	list, err := objects(m.Blobs[0])
	if err != nil {
		return nil, errAnswer
	}
	return list, nil
}

// costOfObjects is the memory that decodeObjects takes. The head is not read.
func costOfObjects(m worker.Message) (int64, error) {
	if len(m.Blobs) != 1 {
		return 0, errAnswer
	}
	size, err := memory(m.Blobs[0])
	if err != nil {
		return 0, errAnswer
	}
	return size + int64(len(m.Blobs[0])), nil
}

// beside is, in a worker, the directory of the trigger file.
func beside(h *worker.Host, dir string) fs.FS {
	return tree.FS(func(name string) ([]byte, error) {
		files, err := archive.Pick(context.Background(), opener(h), archive.RepositoryLimits,
			tree.Selection{Names: []string{path.Join(dir, name)}})
		if err == nil && len(files) == 0 {
			return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
		}
		if err != nil {
			return nil, received(err)
		}
		return files[0].Data, nil
	})
}

// sources is the job that reads a trigger file.
func sources(h *worker.Host, m worker.Message) (worker.Message, error) {
	var head ofS3
	if err := m.Decode(&head); err != nil {
		return worker.Message{}, err
	}
	t, err := s3source.ReadTrigger(head.Call, head.Dir, beside(h, head.Dir))
	if err != nil {
		return worker.Message{}, err
	}
	places, err := s3source.PlacesOf(t.Sources)
	if err != nil {
		return worker.Message{}, err
	}
	return worker.NewMessage(trigger{t.File, places}, t.Text)
}

// render is the job that makes objects.
func render(h *worker.Host, m worker.Message) (worker.Message, error) {
	var head ofS3
	if err := m.Decode(&head); err != nil {
		return worker.Message{}, err
	}
	if len(m.Blobs) == 0 {
		return worker.Message{}, errAnswer
	}
	list, err := triggerfile.Parse(head.File, m.Blobs[0])
	if err != nil {
		return worker.Message{}, err
	}
	blobs := m.Blobs[1:]
	var fetched []s3source.Fetched
	for i, s := range head.Fetched {
		if i >= len(list) || len(s.Names) > len(blobs) {
			return worker.Message{}, errAnswer
		}
		snap := &bucket.Snapshot{Single: s.Single}
		for j, name := range s.Names {
			snap.Files = append(snap.Files, tree.File{Name: name, Data: blobs[j]})
		}
		blobs = blobs[len(s.Names):]
		fetched = append(fetched, s3source.Fetched{Source: list[i], Snapshot: snap})
	}
	docs, err := s3source.Config{Git: beside(h, head.Dir), App: head.Call, File: head.File}.Render(context.Background(), fetched)
	if err != nil {
		return worker.Message{}, err
	}
	out := make([]manifest.Object, len(docs))
	for i, d := range docs {
		out[i] = d.Object
	}
	data, err := encodeObjects(out)
	if err != nil {
		return worker.Message{}, err
	}
	return worker.NewMessage(nil, data)
}
