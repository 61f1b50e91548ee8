CREATE TABLE verdicts (
    number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
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

CREATE INDEX by_verdict ON verdicts (verdict, number);

CREATE TABLE decisions (
    id TEXT PRIMARY KEY REFERENCES verdicts (id),
    choice TEXT NOT NULL CHECK (choice IN ('accept', 'decline')),
    who TEXT NOT NULL,
    why TEXT NOT NULL,
    decided_at TEXT NOT NULL
);

CREATE FUNCTION refuse_change_of_decision() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    RAISE EXCEPTION 'a decision stands' USING ERRCODE = 'check_violation';
END $$;

CREATE FUNCTION refuse_decision_without_review() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF NOT EXISTS (SELECT 1 FROM verdicts WHERE id = NEW.id AND verdict = 'review') THEN
        RAISE EXCEPTION 'only a review is decided' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER reviews_only BEFORE INSERT ON decisions
FOR EACH ROW EXECUTE FUNCTION refuse_decision_without_review();

CREATE TRIGGER decisions_stand BEFORE UPDATE OR DELETE ON decisions
FOR EACH ROW EXECUTE FUNCTION refuse_change_of_decision();
