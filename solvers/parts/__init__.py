"""Line searches and curvature memory: what solvers are made of."""
