function(name, count, other='default') { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: name }, data: { count: count, other: other } }
