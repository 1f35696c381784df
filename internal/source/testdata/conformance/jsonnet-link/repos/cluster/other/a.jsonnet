{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, data: { n: import 'near.libsonnet' } }
