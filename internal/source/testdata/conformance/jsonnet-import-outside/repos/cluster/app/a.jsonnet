import '../../../../../../../../../../nonexistent-argosy/x.libsonnet'
