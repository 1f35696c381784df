error 'not today'
