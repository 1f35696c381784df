// Package lab runs a real cluster on one machine, without containers: etcd, the Kubernetes control plane, kwok in place
// of kubelets, Redis, all servers of Argo CD, an S3 server and a Git server, as plain processes on loopback.
//
// Programs are built once from their modules in build/ into a cache outside the checkout. A lab has its own directory and
// free ports, so several run side by side; Stop, the end of the process or its death by any signal ends all of them.
// Tests commit files, apply manifests, wait for conditions through watches, and ask a Journal of the API server's events
// what happened before what. Everything Argo CD reads from Git and S3 goes through a Proxy that tests can cut or slow.
package lab
