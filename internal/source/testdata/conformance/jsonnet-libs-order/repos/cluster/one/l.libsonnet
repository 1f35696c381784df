'one'
