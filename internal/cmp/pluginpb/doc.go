// Package pluginpb is the protocol between Argo CD's repo-server and its config management plugins, generated from
// plugin.proto by 'make proto'.
package pluginpb
