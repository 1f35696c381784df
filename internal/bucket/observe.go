package bucket

import "context"

// Observe returns a Store that calls asked with each request, "list" or "get", and its error. It is Versioned if s is.
func Observe(s Store, asked func(operation string, err error)) Store {
	o := observed{s, asked}
	if v, ok := s.(Versioned); ok {
		return observedVersions{o, v}
	}
	return o
}

type observed struct {
	store Store
	asked func(operation string, err error)
}

// List implements Store.
func (o observed) List(ctx context.Context, prefix string, most int) (Listing, error) {
	l, err := o.store.List(ctx, prefix, most)
	o.asked("list", err)
	return l, err
}

// Get implements Store.
func (o observed) Get(ctx context.Context, object Object) ([]byte, error) {
	data, err := o.store.Get(ctx, object)
	o.asked("get", err)
	return data, err
}

// observedVersions is an observed store that keeps versions.
type observedVersions struct {
	observed
	versions Versioned
}

// Versions implements Versioned.
func (o observedVersions) Versions(ctx context.Context, prefix string, most int) ([]Version, error) {
	list, err := o.versions.Versions(ctx, prefix, most)
	o.asked("list", err)
	return list, err
}

// GetVersion implements Versioned.
func (o observedVersions) GetVersion(ctx context.Context, v Version) ([]byte, error) {
	data, err := o.versions.GetVersion(ctx, v)
	o.asked("get", err)
	return data, err
}
