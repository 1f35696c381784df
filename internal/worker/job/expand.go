package job

import (
	"fmt"

	"github.com/argosy-cd/argosy/internal/appset"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/argo/versions"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/worker"
)

// expansion is the head of a job that expands sets.
type expansion struct {
	Call            argo.Call        `json:"call"`
	Dir             string           `json:"dir"`
	Namespace       string           `json:"namespace"`
	Default         string           `json:"default"`
	Keep            bool             `json:"keep"`
	Deployed        bool             `json:"deployed"`
	Pinned          bool             `json:"pinned"`
	Embedded        bool             `json:"embedded"` // the engine is that of this program; otherwise the host has it
	EngineNamespace string           `json:"engineNamespace,omitempty"`
	AllowEmpty      bool             `json:"allowEmpty"`
	MaxSets         int              `json:"maxSets"`
	Version         versions.Version `json:"version"`
	Clusters, Git   bool
	APIs            bool
}

// expanded is the head of the answer. Its blob has the objects.
type expanded struct {
	Sets     int      `json:"sets"`
	Rendered int      `json:"rendered"`
	Warnings []string `json:"warnings,omitempty"`
	// Reads are the reads of sets, and Read has for each object the number of its reads; 0 is none.
	Reads [][]appset.Read `json:"reads,omitempty"`
	Read  []int           `json:"read,omitempty"`
}

// Limits of one expansion.
const (
	maxTrees = 200
	maxAsked = 2_000
	// maxWarnings bounds the warnings, and maxWarningTexts their bytes. maxFailureTexts is for warnings beside an error, in a question.
	maxWarnings     = 1000
	maxWarningTexts = 256 << 10
	maxFailureTexts = 32 << 10
	// maxSpecs bounds the memory of sets for the engine of the host, and maxSetHeads the bytes of their names.
	maxSpecs    = 64 << 20
	maxSetHeads = 1 << 20
)

// errTrees says that one job reads too many repositories.
var errTrees = fmt.Errorf("one application reads more than %d repositories", maxTrees)

// Questions of an expansion, beside askArchive.
const (
	askClusters    worker.Question = "clusters"
	askAPI         worker.Question = "api"         // a generator.Question
	askTree        worker.Question = "tree"        // opens a repository; question
	askDirectories worker.Question = "directories" // of an open repository; question
	askFiles       worker.Question = "files"       // of an open repository; question
	askSets        worker.Question = "sets"        // has the engine of the host render sets; a list of set, and their specs
	askWarnings    worker.Question = "warnings"    // gives the host the warnings beside an error
)

// question is the head of a question of an expansion.
type question struct {
	URL      string `json:"url,omitempty"`
	Revision string `json:"revision,omitempty"`
	Tree     int    `json:"tree,omitempty"`
	Pattern  string `json:"pattern,omitempty"`
}

// opened is the head of the answer that a repository was found.
type opened struct {
	Tree   int     `json:"tree"`
	Commit *string `json:"commit,omitempty"`
}

// set is an ApplicationSet without its spec.
type set struct {
	Name, Namespace, Wave string
	Position              manifest.Position
}

// generated is the head of the answer of another engine. Its blobs are the Applications of each set.
type generated struct {
	Reads    [][]appset.Read `json:"reads,omitempty"`
	Warnings []string        `json:"warnings,omitempty"`
}
