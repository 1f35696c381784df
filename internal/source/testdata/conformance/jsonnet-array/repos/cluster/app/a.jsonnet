[{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } }, null, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'b' } }]
