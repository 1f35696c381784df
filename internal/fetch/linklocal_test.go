package fetch

import "testing"

// TestNotLinkLocal: nothing is fetched from where clouds serve credentials.
func TestNotLinkLocal(t *testing.T) {
	for address, refused := range map[string]bool{
		"169.254.169.254:80": true, "[fe80::1]:443": true, "[::ffff:169.254.169.254]:80": true, "127.0.0.1:80": false,
		"10.0.0.1:443": false, "[2001:db8::1]:443": false,
	} {
		if err := NotLinkLocal("tcp", address, nil); (err != nil) != refused {
			t.Errorf("%s: %v", address, err)
		}
	}
}
