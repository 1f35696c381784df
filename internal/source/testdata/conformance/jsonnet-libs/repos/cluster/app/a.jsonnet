(import 'lib.libsonnet')('a') + (import 'more/x.libsonnet')
