{ a: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } }, b: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'b' } } }
