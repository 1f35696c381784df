package main

import "fmt"

// group is a part of the table.
type group struct {
	name, how string
	rows      []row
}

// row compares a metric of ours with one of a peer. Several metrics are added up.
type row struct {
	name       string
	ours, peer []metric
	peerName   string
	aim        aim
	why        string // the reason if the aim is missed
}

// aim is what was promised. The zero value is none.
type aim struct {
	text string
	met  func(ours, peer float64) bool
}

// better: so many times as good as the peer.
func better(n float64) aim {
	return aim{fmt.Sprintf("%g×", n), func(ours, peer float64) bool { return peer/ours >= n }}
}

// within: not more than so much, in the unit of the metric.
func within(most float64, unit string) aim {
	return aim{"at most " + format(most, unit), func(ours, _ float64) bool { return ours <= most }}
}

// near: at most so many times a floor.
func near(n float64) aim {
	return aim{fmt.Sprintf("at most %g of it", n), func(ours, floor float64) bool { return ours <= n*floor }}
}

// more: at most so many milliseconds more than the peer.
func more(ms float64) aim {
	return aim{fmt.Sprintf("at most %g ms more", ms), func(ours, peer float64) bool { return ours-peer <= ms*1e6 }}
}

func one(name, unit string) []metric { return []metric{{name, unit}} }

const (
	ms = 1e6 // in ns
	s  = 1e9
)

// earlier introduces figures that a run does not measure.
const earlier = "Measured once, not in this run: "

var groups = []group{
	{
		name: "Render one ApplicationSet",
		how:  "A list generator and a template with a dozen templated fields, by Argo CD's own code and by ours, in one process. The best of several runs.",
		rows: []row{
			render("1,000 Applications, time", 1000, "ns/op", better(200)),
			render("1,000 Applications, allocated", 1000, "B/op", better(100)),
			render("10,000 Applications, time", 10000, "ns/op", aim{}),
			render("10,000 Applications, allocated", 10000, "B/op", aim{}),
			{name: "10,000 Applications, from YAML to YAML", ours: one("RenderYAML/n=10000/by=argosy", "ns/op")},
		},
	},
	{
		name: "Copy 1,000 objects of 2 KB from S3",
		how: "To a directory, from one S3 server (versitygw); wall time of the process, the best of five runs. The floor is the start of a process and one LIST. " +
			"`rclone`, tuned, copies 32 at a time and compares checksums.",
		rows: []row{
			because(copied("nothing is there", "cold", "`aws s3 sync`", "aws", better(10)),
				earlier+"in processor time, a pull took 0.3 s and the AWS CLI 3.4 s, eleven times as much. The S3 server took 0.2 s for both, on the same "+
					"two cores."),
			copied("nothing is there", "cold", "`rclone sync`", "rclone", better(1)),
			copied("nothing is there", "cold", "`rclone sync`, tuned", "rclone-tuned", better(1)),
			copied("nothing has changed", "unchanged", "`aws s3 sync`", "aws", aim{}),
			copied("nothing has changed", "unchanged", "`rclone sync`", "rclone", aim{}),
			copied("nothing has changed", "unchanged", "`rclone sync`, tuned", "rclone-tuned", aim{}),
			{
				name: "nothing has changed", ours: one("Copy/n=1000/unchanged/by=argosy", "ns/op"), peerName: "the floor",
				peer: []metric{{"Command/start", "ns/op"}, {"Unchanged/listing-alone", "ns/op"}}, aim: near(1.3),
				why: "A pull reads the thousand files of the directory and compares them byte by byte, where others trust sizes and times. " +
					earlier + "this took about 10 ms of processor time, and the cache 3 ms. The rest is the first request of a new process; the LIST of the floor is measured in one that has sent " +
					"requests before. The plugins have no directory and keep running: the next row.",
			},
			{
				name: "nothing has changed, in a running process", ours: one("Unchanged/snapshot", "ns/op"), peerName: "one LIST",
				peer: one("Unchanged/listing-alone", "ns/op"), aim: near(1.3),
			},
			{
				name: "peak memory", ours: one("Copy/n=1000/cold/by=argosy", "peak-B"), peerName: "`rclone sync`",
				peer: one("Copy/n=1000/cold/by=rclone", "peak-B"),
			},
			{name: "10,000 objects, nothing is there", ours: one("Copy/n=10000/cold/by=argosy", "ns/op")},
			{name: "10,000 objects, nothing has changed", ours: one("Copy/n=10000/unchanged/by=argosy", "ns/op")},
		},
	},
	{
		name: "One plugin call",
		how: "By the client of Argo CD's repo-server: to `argosy cmp`, and to Argo CD's plugin server with our `plugin.yaml`, which starts a process for each call. Medians. " +
			"For a large repository Argo CD's client needs most of the time, because it packs the repository.",
		rows: []row{
			call("a set of 10 Applications", "appset-10", "ns/op", within(10*ms, "ns")),
			call("a set of 10 Applications, calls at a time", "appset-10", "calls/s", aim{}),
			call("a set of 10 Applications, CPU", "appset-10", "cpu-ns/op", aim{}),
			call("a set of 1,000 Applications", "appset-1000", "ns/op", aim{}),
			call("a folder in a repository of 20 MB", "appset-large-repository", "ns/op", aim{}),
			call("a folder with a chart", "appset-chart", "ns/op", within(10*ms, "ns")),
			call("10 manifests in S3, unchanged", "s3-unchanged", "ns/op", within(10*ms, "ns")),
			workers("in a worker: a set of 10 Applications", "appset-10"),
			workers("in a worker: a folder with a chart", "appset-chart"),
			workers("in a worker: 10 manifests in S3, unchanged", "s3-unchanged"),
		},
	},
	{
		name: "Plan a tree",
		how: "`argosy plan` of a work tree, and the same Kustomizations or charts rendered by `kustomize build` or `helm template`, once for each Application. Wall time, the best of three. " +
			"`argosy lint` contains a plan: its ratio is what the rules cost.",
		rows: []row{
			tree("97 Applications, 97 Kustomizations", "97-kustomizations", "`kustomize build`", within(s, "ns")),
			tree("130 Applications, 1,300 Kustomizations", "1300-kustomizations", "`kustomize build`", within(5*s, "ns")),
			tree("97 Applications, 97 charts", "97-charts", "`helm template`", within(s, "ns")),
			{name: "1,000 Applications, 3,000 objects", ours: one("Command/plan_of_1000_Applications", "ns/op"), aim: within(s, "ns")},
			{name: "1,000 Applications, peak memory", ours: []metric{{"Command/plan_of_1000_Applications", "MB"}}},
			{
				name: "1,000 Applications, `argosy lint`, CPU", ours: one("Command/lint_of_1000_Applications", "cpu-ms/op"), peerName: "`argosy plan`",
				peer: one("Command/plan_of_1000_Applications", "cpu-ms/op"),
			},
			{name: "5,000 Applications, 15,000 objects", ours: one("Command/plan_of_5000_Applications", "ns/op")},
			{name: "the boot of 5,000 Applications, simulated", ours: one("Simulate", "ns/op")},
		},
	},
	{
		name: "Trigger repositories and refreshes",
		how:  "On one core, without the network: what `git ls-remote` asks first, and one step of the controller that keeps the interval.",
		rows: []row{
			{name: "`git ls-remote`", ours: one("Refs", "ns/op"), aim: within(0.5*ms, "ns")},
			{name: "5,000 Applications, of which none is due", ours: one("Step", "ns/op")},
		},
	},
	{
		name: "Look at 2,000 live Applications",
		how: "Applications with 20 objects each and the results of their syncs, on a real API server. `argosy` reads all of it in pages; `kubectl get` reads a table with two columns; " +
			"`argocd app list` asks a server that keeps all Applications in memory.",
		rows: []row{
			look("`argosy status`, CPU", "argosy-status", "cpu-ns/op", "`kubectl get -o json`", "kubectl-json"),
			look("`argosy status`, peak memory", "argosy-status", "peak-B", "`kubectl get -o json`", "kubectl-json"),
			look("`argosy status`, CPU", "argosy-status", "cpu-ns/op", "`kubectl get`", "kubectl"),
			look("`argosy status`, peak memory", "argosy-status", "peak-B", "`kubectl get`", "kubectl"),
			look("`argosy status`, CPU", "argosy-status", "cpu-ns/op", "`argocd app list`", "argocd"),
			look("`argosy why`, CPU", "argosy-why", "cpu-ns/op", "`kubectl get -o json`", "kubectl-json"),
			{
				name: "`argosy status --watch`, peak memory", ours: one("Follow/by=argosy-status", "peak-B"), peerName: "`kubectl get -w`",
				peer: one("Follow/by=kubectl", "peak-B"),
			},
		},
	},
	{
		name: "The board with 2,000 Applications",
		how:  "Processor time of the page's thread in Chromium, from an event to the frame that shows it; the mean of forty.",
		rows: []row{
			{name: "search", ours: one("Interaction/search", "ms/event"), aim: within(100, "ms")},
			{name: "filter by state", ours: one("Interaction/filter", "ms/event"), aim: within(100, "ms")},
			{name: "another time", ours: one("Interaction/scrub", "ms/event"), aim: within(100, "ms")},
			{name: "select", ours: one("Interaction/select", "ms/event"), aim: within(100, "ms")},
			{name: "scroll", ours: one("Interaction/scroll", "ms/event"), aim: within(100, "ms")},
			{name: "arrow keys", ours: one("Interaction/arrows", "ms/event"), aim: within(100, "ms")},
		},
	},
}

func render(name string, n int, unit string, a aim) row {
	by := fmt.Sprintf("Render/n=%d/by=", n)
	return row{name: name, ours: one(by+"argosy", unit), peer: one(by+"argocd", unit), peerName: "Argo CD's own code", aim: a}
}

func copied(name, kind, peerName, peer string, a aim) row {
	by := "Copy/n=1000/" + kind + "/by="
	return row{name: name, ours: one(by+"argosy", "ns/op"), peer: one(by+peer, "ns/op"), peerName: peerName, aim: a}
}

// because has a reason for an aim that is missed.
func because(x row, why string) row {
	x.why = why
	return x
}

func call(name, scenario, unit string, a aim) row {
	by := "Call/" + scenario + "/by="
	return row{name: name, ours: one(by+"argosy", unit), peer: one(by+"argocd-cmp-server", unit), peerName: "`argocd-cmp-server`", aim: a}
}

func workers(name, scenario string) row {
	by := "Workers/" + scenario + "/by="
	return row{name: name, ours: one(by+"workers", "ns/op"), peer: one(by+"no-workers", "ns/op"), peerName: "`--workers 0`", aim: more(1)}
}

func tree(name, shape, peerName string, a aim) row {
	by := "Tree/" + shape + "/by="
	return row{name: name, ours: one(by+"argosy-plan", "ns/op"), peer: one(by+"once-for-each", "ns/op"), peerName: peerName, aim: a}
}

func look(name, by, unit, peerName, peer string) row {
	return row{name: name, ours: one("Look/by="+by, unit), peer: one("Look/by="+peer, unit), peerName: peerName}
}
