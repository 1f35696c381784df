'top'
