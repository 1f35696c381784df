package versions

import "errors"

// Range returns the supported versions as text, such as "3.2 to 3.5".
func Range() string { return Oldest.String() + " to " + Newest.String() }

// Flag is a version that a user chooses, as a flag of a command line. The zero value is no choice.
type Flag struct{ Version }

// String is "" for no choice.
func (f *Flag) String() string {
	if f.Version == 0 {
		return ""
	}
	return f.Version.String()
}

// Type is the placeholder in help.
func (f *Flag) Type() string { return "VERSION" }

// Set refuses versions that are not known.
func (f *Flag) Set(s string) error {
	v, err := Parse(s)
	if err != nil {
		return errors.New("must be " + Range())
	}
	f.Version = v
	return nil
}

// Values are all of them, for completion.
func (f *Flag) Values() []string {
	var out []string
	for _, v := range All() {
		out = append(out, v.String())
	}
	return out
}
