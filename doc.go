// Package argosy is the root of the repository. It holds no code; the test beside it holds the repository to the map
// below: which packages there are, which layer each belongs to, and that imports point one way only.
//
// Layers, each importing from itself and from those above it:
//
//	data     values and their formats
//	logic    pure: no network, clock, environment, processes or logging
//	edge     talks to the outside
//	command  wiring, flags, exit codes
//	test     imported by tests only
//
// Packages:
//
//	examples                   data     the example cluster, to be embedded
//	deploy                     data     the manifests of what runs in a cluster, to be embedded
//	internal/manifest          data     Kubernetes documents: decode, find, encode deterministically
//	internal/problem           data     errors that are lists of problems
//	internal/strict            data     configuration files: strict decoding with positions, and their JSON Schema
//	internal/amend             data     small changes in the text of a manifest, with every other byte as it was
//	internal/words             data     the small words of reports and messages
//	internal/textdiff          data     the unified diff of two texts
//	internal/giturl            data     URLs of repositories: which are of the same one, and how they are printed
//	internal/progress          data     the progress of work that takes longer than a second
//	internal/screen            data     lines for people, and below them a part of the terminal that changes
//	internal/secret            data     texts that are not printed
//	internal/environ           data     the environment of a process, which is not printed
//	internal/tree              data     a directory in memory
//	internal/gittree           logic    the content of a Git repository at a revision: paths, patterns, versions
//	internal/gittree/gittest   test     repositories for tests
//	internal/argo              data     Argo CD's own resources: names, and the types of their fields
//	internal/argo/versions     data     what differs between versions of Argo CD
//	internal/argo/order        data     the order of a sync: hooks, phases, waves, and what is moved
//	internal/argo/window       data     sync windows: which are open, and when a sync may begin
//	internal/appset            logic    ApplicationSet to Applications: render, patch, guard
//	internal/appset/generator  logic    generators to parameter sets
//	internal/appset/answers    logic    recorded answers of APIs to generators: files, replay
//	internal/appset/convert    logic    ApplicationSets to Applications that use the plugin, and back, in the text of files
//	internal/appset/template   logic    both template modes of ApplicationSets, and the templates of charts, with limits
//	internal/appset/appsettest test     the cases that compare us with Argo CD
//	internal/source            logic    the source of an Application, by Argo CD's rules, to documents and a verdict
//	internal/source/sourcetest test     the cases that compare the rendering of sources with Argo CD
//	internal/retry             logic    attempts, and waits between them that grow
//	internal/flight            logic    callers of the same call share its answer; many calls, some at a time
//	internal/health            logic    health of objects as Argo CD sees it: Lua scripts, core kinds
//	internal/settings          logic    Argo CD's settings, from all that can contain them: argocd-cm, chart values, the operator
//	internal/appsetplugin      logic    the appset plugin: the Applications of an application
//	internal/plan              logic    a boot before it happens: who deploys whom, in which order, and what waits
//	internal/simulate          logic    a boot, event by event, under Argo CD's rules
//	internal/live              logic    a boot that happens now, from events: Applications, waves, syncs, what waits for what
//	internal/board/scene       logic    a boot as the board shows it: from a plan, a simulation, a recording or a live cluster
//	internal/live/cause        logic    why a live boot waits: from an Application down to the object and its condition
//	internal/live/course       logic    how a live boot goes: events, times, and the comparison with its plan
//	internal/lint              logic    rules over a plan, and their findings at lines of files
//	internal/lint/format       logic    findings for people, for programs and beside code
//	internal/install           logic    what to add to an Argo CD, for each way to install one
//	internal/report            logic    plans, their differences and boots as tables, JSON and pictures
//	internal/policy            logic    what Argo CD projects may make us do
//	internal/rights            logic    whose credential may be used for which repository, who may know which cluster and ask which API
//	internal/archive           logic    tar and zip archives that are not trusted
//	internal/hostile           test     hostile inputs, each in a process with little memory
//	internal/render            logic    the engines that make Kubernetes objects: manifests, Kustomize, Helm
//	internal/bucket            logic    snapshots of a bucket, publishing to it, index, cache format
//	internal/bucket/disk       edge     the cache on disk
//	internal/bucket/transfer   edge     files between directories and buckets: push, pull, compare
//	internal/bucket/s3         edge     the S3 store, its credentials and its errors
//	internal/bucket/s3/local   edge     an S3 server in this process
//	internal/bucket/s3/queue   edge     an SQS queue with notifications
//	internal/bucket/s3/awsjson edge     services of AWS that speak JSON: CodeCommit
//	internal/bucket/buckettest test     stores, servers, faults and the contract of stores
//	internal/s3source          logic    s3-source.yaml to Kubernetes objects
//	internal/s3source/triggerfile logic s3-source.yaml itself
//	internal/s3source/buckets  edge     the buckets that trigger files and commands name, each opened once
//	internal/s3source/hook     edge     the s3 plugin as commands in an application's directory
//	internal/cachedir          edge     directories of caches: where they are, who may write to them, files that appear complete
//	internal/input             edge     files, directories and standard input that a user names, with limits
//	internal/workspace         edge     a user's repositories, the roots in them, and plans of those
//	internal/preview           edge     argosy plan, app render, simulate, lint: from roots to a report and a verdict
//	internal/edit              edge     Applications in files of users, annotated or converted: all files or none
//	internal/outgoing          edge     requests to servers that others may name: proxies, refused addresses, redirects
//	internal/gitsource         edge     Git for people, by the git command: work trees, revisions, fetches
//	internal/gitremote         edge     Git for servers, by go-git, with Argo CD's credentials
//	internal/fetch             edge     charts, artifacts and files from elsewhere, kept by digest
//	internal/cmp               edge     Argo CD's plugin protocol: plugins on Unix sockets
//	internal/cmp/pluginpb      edge     its messages, generated
//	internal/cmp/client        edge     a client that behaves like Argo CD's repo-server
//	internal/cmp/cmptest       test     one that can also misbehave
//	internal/scm               edge     APIs that generators ask: hosts of repositories, plugins, objects of a cluster
//	internal/scm/scmtest       test     servers that answer like hosts of repositories
//	internal/cmp/siegetest     test     honest and hostile projects that ask the real sidecar
//	internal/cmp/siegetest/soak test    a program that has them do so for minutes, and kills the sidecar at random
//	internal/kube              edge     what Argo CD keeps in its cluster
//	internal/handover          logic    Applications of a live ApplicationSet to the plugin, step by step, and back
//	internal/refresh           edge     which applications Argo CD must refresh, when and how
//	internal/follow            edge     argosy status, wait and why: from a cluster or a recording to a report
//	internal/boot              edge     argosy boot: preflight, apply, follow to the end, compare with the plan
//	internal/events            edge     notifications of S3: webhooks, SNS, EventBridge, SQS
//	internal/eventserver       edge     argosy events: notifications become refreshes
//	internal/refresher         edge     Applications that are followed, and refreshes that are asked for
//	internal/argocd            edge     the Argo CD API server as an engine for ApplicationSets
//	internal/trigger           edge     repositories that make Argo CD refresh: clocks, buckets, files
//	internal/trigger/triggerurl data    the URLs of trigger repositories: which there are, how they are written
//	internal/gitserver         edge     read-only Git over smart HTTP, from repositories that are computed
//	internal/reposerver        edge     argosy repo: trigger repositories over HTTP
//	internal/sidecar           edge     argosy cmp: the plugins beside a repo-server
//	internal/serve             edge     HTTP as all our servers serve it, and files of settings that change
//	internal/serve/leaktest    test     goroutines that tests of servers have left behind
//	internal/metrics           edge     Prometheus
//	internal/turnstile         edge     how many requests are answered at once, of one client and of all
//	internal/worker            edge     processes for work that is not trusted: limits, messages, a pool
//	internal/worker/job        edge     the work of workers, for plugins and for fetched sources, and what it asks its host for
//	internal/demo              edge     a boot without a cluster: servers, plugins and a simulation in one process
//	internal/board             edge     argosy board: the page that shows a boot, and who may see it
//	internal/cli               edge     what every command line needs: groups, help, completion, settings from variables
//	internal/cli/option        edge     groups of flags that several commands share, and what they configure
//	cmd/argosy                 command  the command line
package argosy
