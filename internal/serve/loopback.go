package serve

import "net"

// IsLoopback reports whether an address to listen on is reached from this machine only.
func IsLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	return err == nil && IsLoopbackHost(host)
}

// IsLoopbackHost reports whether a host, without a port, is this machine.
func IsLoopbackHost(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
