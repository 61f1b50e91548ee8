PRAGMA application_id = 1397705799;
PRAGMA user_version = 1;
BEGIN TRANSACTION;
CREATE TABLE decisions (
    id TEXT PRIMARY KEY REFERENCES verdicts (id),
    choice TEXT NOT NULL CHECK (choice IN ('accept', 'decline')),
    who TEXT NOT NULL,
    why TEXT NOT NULL,
    decided_at TEXT NOT NULL
);
INSERT INTO "decisions" VALUES('0000000000000000','decline','Ann','no harbour in the page','2026-11-24T22:15:55+00:00');
CREATE TABLE verdicts (
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
INSERT INTO "verdicts" VALUES(1,'0000000000000000','2026-11-24T12:00:00+00:00','claim 0','["lamps"]','"the lamp was built near the harbour 0"','["the old lamp was built near the museum"]','lamps','words','0000000000000000000000000000000000000000000000000000000000000000','{"name": "fixed.standard.v1", "kind": "fixed", "tau_accept": 0.4, "tau_review": 0.5, "measure": "energy", "domain": "any", "model": "any", "model_fingerprint": "", "oracle": "medoid", "top_k": 0, "rank_r": 0, "calibration_sha256": "", "calibration_count": 0, "promise": "", "strict": false}','review','{"verdict": "review", "hallucination_energy": 0.45, "energy_gap": 0.21, "policy_applied": "fixed.standard.v1", "reasons": ["energy 0.45 in the review band above 0.4"], "checks": [], "failure_modes": []}');
INSERT INTO "verdicts" VALUES(2,'0000000000000001','2026-11-24T12:00:00+00:00','claim 1','["lamps"]','"the lamp was built near the harbour 1"','["the old lamp was built near the museum"]','lamps','words','0000000000000000000000000000000000000000000000000000000000000000','{"name": "fixed.standard.v1", "kind": "fixed", "tau_accept": 0.4, "tau_review": 0.5, "measure": "energy", "domain": "any", "model": "any", "model_fingerprint": "", "oracle": "medoid", "top_k": 0, "rank_r": 0, "calibration_sha256": "", "calibration_count": 0, "promise": "", "strict": false}','review','{"verdict": "review", "hallucination_energy": 0.450001, "energy_gap": 0.21, "policy_applied": "fixed.standard.v1", "reasons": ["energy 0.45 in the review band above 0.4"], "checks": [], "failure_modes": []}');
CREATE INDEX by_verdict ON verdicts (verdict, number);
CREATE TRIGGER reviews_only BEFORE INSERT ON decisions
WHEN (SELECT verdict FROM verdicts WHERE id = NEW.id) IS NOT 'review'
BEGIN SELECT RAISE(ABORT, 'only a review is decided'); END;
CREATE TRIGGER decisions_stand BEFORE UPDATE ON decisions
BEGIN SELECT RAISE(ABORT, 'a decision stands'); END;
CREATE TRIGGER decisions_stay BEFORE DELETE ON decisions
BEGIN SELECT RAISE(ABORT, 'a decision stands'); END;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('verdicts',2);
COMMIT;
