{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, data: { near: import 'near.libsonnet', app: import 'top.libsonnet', up: import '../../up.libsonnet', str: importstr 'text.txt' } }
