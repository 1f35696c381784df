'two'
