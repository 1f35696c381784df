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
//	internal/manifest          data     Kubernetes documents: decode, find, encode deterministically
//	internal/problem           data     errors that are lists of problems
//	internal/strict            data     configuration files: strict decoding with positions, and their JSON Schema
//	internal/annotate          data     an annotation in the text of a manifest, with every other byte as it was
//	internal/words             data     the small words of reports and messages
//	internal/tree              data     a directory in memory
//	internal/argo              data     Argo CD's own resources: names, and the types of their fields
//	internal/argo/versions     data     what differs between versions of Argo CD
//	internal/argo/order        data     the order of a sync: hooks, phases, waves, and what is moved
//	internal/appset            logic    ApplicationSet to Applications: render, patch, guard
//	internal/appset/generator  logic    generators to parameter sets
//	internal/appset/answers    logic    recorded answers of APIs to generators: files, replay
//	internal/appset/template   logic    both template modes of ApplicationSets, and the templates of charts, with limits
//	internal/appset/appsettest test     the cases that compare us with Argo CD
//	internal/source            logic    the source of an Application, by Argo CD's rules, to documents and a verdict
//	internal/source/sourcetest test     the cases that compare the rendering of sources with Argo CD
//	internal/flight            logic    callers of the same call share its answer
//	internal/health            logic    health of objects as Argo CD sees it: Lua scripts, core kinds
//	internal/settings          logic    Argo CD's settings, from all that can contain them: argocd-cm, chart values, the operator
//	internal/parent            logic    the appset plugin: the Applications of an application
//	internal/plan              logic    a boot before it happens: who deploys whom, in which order, and what waits
//	internal/simulate          logic    a boot, event by event, under Argo CD's rules
//	internal/policy            logic    what Argo CD projects may make us do
//	internal/archive           logic    tar and zip archives that are not trusted
//	internal/hostile           test     hostile inputs, each in a process with little memory
//	internal/render            logic    the engines that make Kubernetes objects: manifests, Kustomize, Helm
//	internal/bucket            logic    snapshots of a bucket, publishing to it, index, cache format
//	internal/bucket/disk       edge     the cache on disk
//	internal/bucket/s3         edge     the S3 store, its credentials and its errors
//	internal/bucket/s3/local   edge     an S3 server in this process
//	internal/bucket/s3/queue   edge     an SQS queue with notifications
//	internal/bucket/s3/awsjson edge     services of AWS that speak JSON: CodeCommit
//	internal/bucket/buckettest test     stores, servers, faults and the contract of stores
//	internal/s3source          logic    s3-source.yaml to Kubernetes objects
//	internal/s3source/triggerfile logic s3-source.yaml itself
//	internal/gitsource         edge     read-only view of Git repositories: work tree, revision, remote
//	internal/fetch             edge     charts, artifacts and files from elsewhere, kept by digest
//	internal/cmp               edge     Argo CD's plugin protocol: plugins on Unix sockets
//	internal/cmp/pluginpb      edge     its messages, generated
//	internal/cmp/client        edge     a client that behaves like Argo CD's repo-server
//	internal/cmp/cmptest       test     one that can also misbehave
//	internal/scm               edge     APIs that generators ask: hosts of repositories, plugins, objects of a cluster
//	internal/scm/scmtest       test     servers that answer like hosts of repositories
//	internal/kube              edge     what Argo CD keeps in its cluster
//	internal/refresh           edge     which applications Argo CD must look at again, when and how
//	internal/events            edge     notifications of S3: webhooks, SNS, EventBridge, SQS
//	internal/argocd            edge     the Argo CD API server as an engine for ApplicationSets
//	internal/trigger           edge     repositories that make Argo CD look again: clocks, buckets, files
//	internal/gitserver         edge     read-only Git over smart HTTP, from repositories that are computed
//	internal/turnstile         edge     how many requests are answered at once, of one client and of all
//	internal/worker            edge     processes for work that is not trusted: limits, messages, a pool
//	internal/worker/job        edge     the plugins' work in workers, and what it asks its host for
//	cmd/argosy                 command  the command line
package argosy
