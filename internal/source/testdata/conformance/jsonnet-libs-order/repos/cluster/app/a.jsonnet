{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, data: { l: import 'l.libsonnet', m: import 'm.libsonnet' } }
