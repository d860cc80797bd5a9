"""Line searches along a direction: Armijo, Wolfe and exact."""
