'near'
