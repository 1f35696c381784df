{ apiVersion: 'example.com/v1', kind: 'Thing', metadata: { name: 'a' }, spec: { a: 1, b: 9007199254740993, c: 0.1, d: 1e21, e: -0, f: 1.0, g: 100000000000000000000 } }
