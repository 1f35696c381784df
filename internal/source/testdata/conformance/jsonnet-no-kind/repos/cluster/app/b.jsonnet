{ apiVersion: 'v1' }
