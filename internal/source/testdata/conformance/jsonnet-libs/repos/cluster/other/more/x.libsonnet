{ data: { x: '1' } }
