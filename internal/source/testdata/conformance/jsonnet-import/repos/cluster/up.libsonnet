'up'
