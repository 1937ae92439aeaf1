print("sweep")
