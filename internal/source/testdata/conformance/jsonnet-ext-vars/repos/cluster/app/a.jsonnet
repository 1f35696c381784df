{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, data: { [k]: std.extVar(k) for k in ['text', 'number', 'env', 'coded'] } }
