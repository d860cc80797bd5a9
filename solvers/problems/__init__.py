"""Problems f(w) = s L(A w) + λR(w): design, losses, penalties, points, certificates."""
