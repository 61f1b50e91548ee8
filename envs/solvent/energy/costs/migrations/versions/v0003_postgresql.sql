CREATE TABLE energy_uses (
    episode TEXT NOT NULL,
    number INTEGER NOT NULL,
    heartbeat_number INTEGER NOT NULL,
    target_type TEXT NOT NULL,
    target_name TEXT NOT NULL,
    about TEXT,
    intent TEXT NOT NULL,
    cost FLOAT NOT NULL,
    failed BOOLEAN NOT NULL,
    agent_notes TEXT,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    PRIMARY KEY (episode, number),
    CONSTRAINT ck_energy_uses_number CHECK (number >= 1),
    CONSTRAINT ck_energy_uses_heartbeat CHECK (heartbeat_number >= 0),
    CONSTRAINT ck_energy_uses_target_type CHECK (target_type IN ('action', 'mcp_tool')),
    CONSTRAINT ck_energy_uses_intent CHECK (intent IN ('cognition', 'exploration', 'maintenance', 'social', 'meta')),
    CONSTRAINT ck_energy_uses_cost CHECK (cost >= 0 AND cost <= 1000000.0)
);

CREATE INDEX idx_energy_uses_target ON energy_uses (episode, target_name, number);

CREATE TABLE reflections (
    id UUID DEFAULT gen_random_uuid() NOT NULL,
    episode TEXT NOT NULL,
    heartbeat_number INTEGER NOT NULL,
    agent_notes TEXT,
    memory_refs UUID[],
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT ck_reflections_heartbeat CHECK (heartbeat_number >= 0)
);

CREATE INDEX idx_reflections_episode ON reflections (episode, heartbeat_number);

CREATE TABLE deferral_sources (
    discomfort_id UUID NOT NULL,
    episode TEXT NOT NULL,
    memory_refs UUID[],
    PRIMARY KEY (discomfort_id),
    FOREIGN KEY(discomfort_id) REFERENCES cost_discomfort_log (id)
);

CREATE INDEX ix_deferral_sources_episode ON deferral_sources (episode);

CREATE FUNCTION limit_change_of_costs() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE held RECORD;
BEGIN
    IF NEW.effective_at > clock_timestamp() + interval '60 seconds' THEN
        RAISE EXCEPTION 'a price takes effect now, at no later time' USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.revision = 0 THEN
        RETURN NEW;
    END IF;
    SELECT * INTO held FROM energy_costs
    WHERE target_type = NEW.target_type AND target_name = NEW.target_name AND revision = NEW.revision - 1;
    IF NOT FOUND OR held.floor <> NEW.floor OR held.ceiling IS DISTINCT FROM NEW.ceiling
        OR held.category IS DISTINCT FROM NEW.category THEN
        RAISE EXCEPTION 'a price follows the one before it, with its floor, ceiling and category'
            USING ERRCODE = 'check_violation';
    END IF;
    IF abs(NEW.cost - held.cost) > 0.5 * held.cost + 0.000001 THEN
        RAISE EXCEPTION 'a cost moves by at most half of itself at once' USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.revision > 1 AND NEW.effective_at < held.effective_at + interval '24 hours' THEN
        RAISE EXCEPTION 'a cost changes at most once a day' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER limit_price BEFORE INSERT ON energy_costs FOR EACH ROW EXECUTE FUNCTION limit_change_of_costs();

CREATE FUNCTION refuse_cost_of_tool() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.energy_cost IS DISTINCT FROM (
        SELECT cost FROM energy_costs WHERE target_type = 'mcp_tool' AND target_name = NEW.name
        ORDER BY revision DESC LIMIT 1
    ) THEN
        RAISE EXCEPTION 'the cost of a tool is its price in force' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER refuse_cost_of_tool BEFORE UPDATE OF energy_cost ON mcp_tools
FOR EACH ROW EXECUTE FUNCTION refuse_cost_of_tool();

CREATE FUNCTION require_grounds() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (SELECT count(DISTINCT ref) FROM unnest(NEW.heartbeat_refs) AS ref) < 2 THEN
        RAISE EXCEPTION 'a proposal has evidence from at least two heartbeats' USING ERRCODE = 'check_violation';
    END IF;
    IF NOT EXISTS (SELECT 1 FROM reflections WHERE id = ANY (NEW.memory_refs)) THEN
        RAISE EXCEPTION 'a proposal follows a reflection' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER require_grounds BEFORE INSERT ON energy_cost_proposals
FOR EACH ROW EXECUTE FUNCTION require_grounds();
