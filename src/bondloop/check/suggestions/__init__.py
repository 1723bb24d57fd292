"""What would make a refused test pass: changes that a laboratory can make, and the search among them."""
