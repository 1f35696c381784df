'app'
