print("mnist")
