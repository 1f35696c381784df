// Package alerts holds the alert rules and the dashboard of the chart to Prometheus's own parser and engine. It is a module of its own,
// because Argosy has no use for Prometheus's code.
package alerts
