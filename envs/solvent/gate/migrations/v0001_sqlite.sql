PRAGMA application_id = 1397705799;

PRAGMA user_version = 1;

CREATE TABLE IF NOT EXISTS verdicts (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    judged_at TEXT NOT NULL,
    name TEXT NOT NULL,
    pages TEXT NOT NULL,
    claim TEXT NOT NULL,
    evidence TEXT NOT NULL,
    domain TEXT NOT NULL,
    model TEXT NOT NULL,
    model_fingerprint TEXT NOT NULL,
    policy TEXT NOT NULL,
    verdict TEXT NOT NULL CHECK (verdict IN ('accept', 'review', 'reject')),
    result TEXT NOT NULL
);

CREATE INDEX IF NOT EXISTS by_verdict ON verdicts (verdict, number);

CREATE TABLE IF NOT EXISTS decisions (
    id TEXT PRIMARY KEY REFERENCES verdicts (id),
    choice TEXT NOT NULL CHECK (choice IN ('accept', 'decline')),
    who TEXT NOT NULL,
    why TEXT NOT NULL,
    decided_at TEXT NOT NULL
);

CREATE TRIGGER IF NOT EXISTS reviews_only BEFORE INSERT ON decisions
WHEN (SELECT verdict FROM verdicts WHERE id = NEW.id) IS NOT 'review'
BEGIN SELECT RAISE(ABORT, 'only a review is decided'); END;

CREATE TRIGGER IF NOT EXISTS decisions_stand BEFORE UPDATE ON decisions
BEGIN SELECT RAISE(ABORT, 'a decision stands'); END;

CREATE TRIGGER IF NOT EXISTS decisions_stay BEFORE DELETE ON decisions
BEGIN SELECT RAISE(ABORT, 'a decision stands'); END;
