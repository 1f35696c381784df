'other'
