CREATE TABLE runs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL DEFAULT '',         -- given by a visitor
    label TEXT NOT NULL,
    solver TEXT NOT NULL,
    setting TEXT NOT NULL,                 -- the address that leads back to it
    about TEXT NOT NULL,                   -- problem, hyper-parameters, f*: JSON
    started REAL NOT NULL,                 -- seconds since 1970, as all times
    state TEXT NOT NULL,                   -- of a trace
    message TEXT NOT NULL DEFAULT '',
    iterations INTEGER,
    objective REAL,
    result TEXT NOT NULL DEFAULT '{}',     -- JSON
    metrics TEXT NOT NULL DEFAULT '[]',    -- test metrics: JSON
    weights BLOB,
    observations BLOB,
    alive INTEGER NOT NULL,                -- whether the process below still advances it
    pid INTEGER NOT NULL,
    place TEXT NOT NULL,
    began TEXT NOT NULL,
    heartbeat REAL NOT NULL,
    pinned INTEGER NOT NULL DEFAULT 0,
    deleted REAL,
    bytes INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE blocks (
    run INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
    first INTEGER NOT NULL,                -- rows before it
    rows BLOB NOT NULL,
    PRIMARY KEY (run, first)
);
