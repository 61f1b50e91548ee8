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
    created_at DATETIME DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')) NOT NULL,
    PRIMARY KEY (episode, number),
    CONSTRAINT ck_energy_uses_number CHECK (number >= 1),
    CONSTRAINT ck_energy_uses_heartbeat CHECK (heartbeat_number >= 0),
    CONSTRAINT ck_energy_uses_target_type CHECK (target_type IN ('action', 'mcp_tool')),
    CONSTRAINT ck_energy_uses_intent CHECK (intent IN ('cognition', 'exploration', 'maintenance', 'social', 'meta')),
    CONSTRAINT ck_energy_uses_cost CHECK (cost >= 0 AND cost <= 1000000.0),
    CONSTRAINT ck_energy_uses_failed CHECK (failed IN (0, 1))
);

CREATE INDEX idx_energy_uses_target ON energy_uses (episode, target_name, number);

CREATE TABLE reflections (
    id CHAR(32) DEFAULT (lower(hex(randomblob(6)) || '4' || substr(hex(randomblob(2)), 2) || substr('89ab', 1 + (random() & 3), 1) || substr(hex(randomblob(8)), 2))) NOT NULL,
    episode TEXT NOT NULL,
    heartbeat_number INTEGER NOT NULL,
    agent_notes TEXT,
    memory_refs JSON,
    created_at DATETIME DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')) NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT ck_reflections_heartbeat CHECK (heartbeat_number >= 0)
);

CREATE INDEX idx_reflections_episode ON reflections (episode, heartbeat_number);

CREATE TABLE deferral_sources (
    discomfort_id CHAR(32) NOT NULL,
    episode TEXT NOT NULL,
    memory_refs JSON,
    PRIMARY KEY (discomfort_id),
    FOREIGN KEY(discomfort_id) REFERENCES cost_discomfort_log (id)
);

CREATE INDEX ix_deferral_sources_episode ON deferral_sources (episode);

CREATE TRIGGER refuse_change_of_terms BEFORE INSERT ON energy_costs FOR EACH ROW
WHEN NEW.revision > 0 AND NOT EXISTS (
    SELECT 1 FROM energy_costs AS held
    WHERE held.target_type = NEW.target_type AND held.target_name = NEW.target_name
    AND held.revision = NEW.revision - 1 AND held.floor IS NEW.floor AND held.ceiling IS NEW.ceiling
    AND held.category IS NEW.category
)
BEGIN SELECT RAISE(ABORT, 'a price follows the one before it, with its floor, ceiling and category'); END;

CREATE TRIGGER refuse_far_change BEFORE INSERT ON energy_costs FOR EACH ROW
WHEN EXISTS (
    SELECT 1 FROM energy_costs AS held
    WHERE held.target_type = NEW.target_type AND held.target_name = NEW.target_name
    AND held.revision = NEW.revision - 1 AND abs(NEW.cost - held.cost) > 0.5 * held.cost + 0.000001
)
BEGIN SELECT RAISE(ABORT, 'a cost moves by at most half of itself at once'); END;

CREATE TRIGGER refuse_fast_change BEFORE INSERT ON energy_costs FOR EACH ROW
WHEN NEW.revision > 1 AND NOT EXISTS (
    SELECT 1 FROM energy_costs AS held
    WHERE held.target_type = NEW.target_type AND held.target_name = NEW.target_name
    AND held.revision = NEW.revision - 1
    AND strftime('%s', NEW.effective_at) - strftime('%s', held.effective_at) >= 86400
)
BEGIN SELECT RAISE(ABORT, 'a cost changes at most once a day'); END;

CREATE TRIGGER refuse_future_price BEFORE INSERT ON energy_costs FOR EACH ROW
WHEN NOT coalesce(strftime('%s', NEW.effective_at) - strftime('%s', 'now') <= 60, 0)
BEGIN SELECT RAISE(ABORT, 'a price takes effect now, at no later time'); END;

CREATE TRIGGER refuse_cost_of_tool BEFORE UPDATE OF energy_cost ON mcp_tools FOR EACH ROW
WHEN NEW.energy_cost IS NOT (
    SELECT cost FROM energy_costs WHERE target_type = 'mcp_tool' AND target_name = NEW.name
    ORDER BY revision DESC LIMIT 1
)
BEGIN SELECT RAISE(ABORT, 'the cost of a tool is its price in force'); END;

CREATE TRIGGER refuse_little_evidence BEFORE INSERT ON energy_cost_proposals FOR EACH ROW
WHEN (SELECT count(DISTINCT value) FROM json_each(NEW.heartbeat_refs)) < 2
BEGIN SELECT RAISE(ABORT, 'a proposal has evidence from at least two heartbeats'); END;

CREATE TRIGGER refuse_no_reflection BEFORE INSERT ON energy_cost_proposals FOR EACH ROW
WHEN NOT EXISTS (
    SELECT 1 FROM json_each(NEW.memory_refs) AS ref JOIN reflections ON reflections.id = replace(ref.value, '-', '')
)
BEGIN SELECT RAISE(ABORT, 'a proposal follows a reflection'); END;
