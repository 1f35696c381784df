import 'x.libsonnet'
