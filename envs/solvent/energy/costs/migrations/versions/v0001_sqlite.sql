CREATE TABLE energy_cost_proposals (
    id CHAR(32) DEFAULT (lower(hex(randomblob(6)) || '4' || substr(hex(randomblob(2)), 2) || substr('89ab', 1 + (random() & 3), 1) || substr(hex(randomblob(8)), 2))) NOT NULL,
    target_type TEXT NOT NULL,
    target_name TEXT NOT NULL,
    current_cost FLOAT NOT NULL,
    suggested_min FLOAT NOT NULL,
    suggested_max FLOAT NOT NULL,
    direction TEXT NOT NULL,
    rationale TEXT NOT NULL,
    confidence FLOAT NOT NULL,
    evidence JSON DEFAULT '[]' NOT NULL,
    heartbeat_refs JSON,
    memory_refs JSON,
    status TEXT DEFAULT 'pending' NOT NULL,
    created_at DATETIME DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')) NOT NULL,
    reviewed_at DATETIME,
    reviewed_by TEXT,
    review_notes TEXT,
    old_cost FLOAT,
    new_cost FLOAT,
    effective_at DATETIME,
    PRIMARY KEY (id),
    CONSTRAINT uq_proposals_new_cost UNIQUE (id, target_type, target_name, new_cost),
    CONSTRAINT ck_proposals_target_type CHECK (target_type IN ('action', 'mcp_tool')),
    CONSTRAINT ck_proposals_direction CHECK (direction IN ('increase', 'decrease')),
    CONSTRAINT ck_proposals_status CHECK (status IN ('pending', 'approved', 'rejected', 'withdrawn')),
    CONSTRAINT ck_proposals_reviewed_by CHECK (reviewed_by IN ('user', 'system', 'timeout')),
    CONSTRAINT ck_proposals_confidence CHECK (confidence BETWEEN 0 AND 1),
    CONSTRAINT ck_proposals_rationale CHECK (length(trim(rationale)) > 0),
    CONSTRAINT ck_proposals_evidence CHECK (json_type(evidence) = 'array' AND json_array_length(evidence) > 0),
    CONSTRAINT ck_proposals_current_cost CHECK (current_cost >= 0 AND current_cost <= 1000000.0),
    CONSTRAINT ck_proposals_suggested_min CHECK (suggested_min >= 0 AND suggested_min <= 1000000.0),
    CONSTRAINT ck_proposals_suggested_max CHECK (suggested_max >= suggested_min AND suggested_max <= 1000000.0),
    CONSTRAINT ck_proposals_suggestion CHECK (CASE direction WHEN 'decrease' THEN suggested_min < current_cost AND suggested_max <= current_cost ELSE suggested_max > current_cost AND suggested_min >= current_cost END),
    CONSTRAINT ck_proposals_reviewed CHECK ((status = 'pending') = (reviewed_at IS NULL) AND (status = 'pending') = (reviewed_by IS NULL) AND (status <> 'pending' OR review_notes IS NULL)),
    CONSTRAINT ck_proposals_approved CHECK ((status = 'approved') = (old_cost IS NOT NULL) AND (status = 'approved') = (new_cost IS NOT NULL) AND (status = 'approved') = (effective_at IS NOT NULL)),
    CONSTRAINT ck_proposals_timeout CHECK (reviewed_by <> 'timeout' OR status = 'rejected'),
    CONSTRAINT ck_proposals_new_cost CHECK (new_cost BETWEEN suggested_min AND suggested_max),
    CONSTRAINT ck_proposals_change CHECK (CASE direction WHEN 'decrease' THEN new_cost < old_cost ELSE new_cost > old_cost END)
);

CREATE UNIQUE INDEX idx_proposals_one_pending ON energy_cost_proposals (target_type, target_name) WHERE status = 'pending';

CREATE INDEX idx_proposals_target ON energy_cost_proposals (target_type, target_name);

CREATE INDEX idx_proposals_status ON energy_cost_proposals (status);

CREATE TABLE cost_discomfort_log (
    id CHAR(32) DEFAULT (lower(hex(randomblob(6)) || '4' || substr(hex(randomblob(2)), 2) || substr('89ab', 1 + (random() & 3), 1) || substr(hex(randomblob(8)), 2))) NOT NULL,
    heartbeat_number INTEGER NOT NULL,
    action_considered TEXT NOT NULL,
    estimated_value FLOAT,
    energy_cost FLOAT NOT NULL,
    energy_available FLOAT NOT NULL,
    deferral_reason TEXT NOT NULL,
    agent_notes TEXT,
    similar_deferrals_recent INTEGER DEFAULT 0,
    created_at DATETIME DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')) NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT ck_discomfort_heartbeat CHECK (heartbeat_number >= 0),
    CONSTRAINT ck_discomfort_reason CHECK (deferral_reason IN ('insufficient_energy', 'cost_benefit', 'hoarding')),
    CONSTRAINT ck_discomfort_similar CHECK (similar_deferrals_recent >= 0),
    CONSTRAINT ck_discomfort_energy_cost CHECK (energy_cost >= 0 AND energy_cost <= 1000000.0),
    CONSTRAINT ck_discomfort_energy_available CHECK (energy_available >= 0 AND energy_available <= 1000000.0)
);

CREATE INDEX idx_discomfort_heartbeat ON cost_discomfort_log (heartbeat_number);

CREATE INDEX idx_discomfort_action ON cost_discomfort_log (action_considered);

CREATE TABLE mcp_tools (
    id CHAR(32) DEFAULT (lower(hex(randomblob(6)) || '4' || substr(hex(randomblob(2)), 2) || substr('89ab', 1 + (random() & 3), 1) || substr(hex(randomblob(8)), 2))) NOT NULL,
    name TEXT NOT NULL,
    description TEXT,
    energy_cost FLOAT DEFAULT (2.0),
    energy_cost_category TEXT,
    energy_cost_factors JSON,
    energy_cost_floor FLOAT,
    allowed_contexts JSON DEFAULT '["chat"]',
    PRIMARY KEY (id),
    CONSTRAINT ck_mcp_tools_category CHECK (energy_cost_category IN ('action', 'write', 'read', 'create', 'modify', 'send_private', 'delete', 'send_public')),
    CONSTRAINT ck_mcp_tools_energy_cost_floor CHECK (energy_cost_floor >= 0 AND energy_cost_floor <= 1000000.0),
    CONSTRAINT ck_mcp_tools_energy_cost CHECK (energy_cost >= coalesce(energy_cost_floor, 0) AND energy_cost <= 1000000.0),
    CONSTRAINT ck_mcp_tools_floor_send_private CHECK (energy_cost_category <> 'send_private' OR coalesce(energy_cost_floor, 0) >= 3.0),
    CONSTRAINT ck_mcp_tools_floor_delete CHECK (energy_cost_category <> 'delete' OR coalesce(energy_cost_floor, 0) >= 5.0),
    CONSTRAINT ck_mcp_tools_floor_send_public CHECK (energy_cost_category <> 'send_public' OR coalesce(energy_cost_floor, 0) >= 6.0),
    UNIQUE (name)
);

CREATE TABLE heartbeats (
    id CHAR(32) DEFAULT (lower(hex(randomblob(6)) || '4' || substr(hex(randomblob(2)), 2) || substr('89ab', 1 + (random() & 3), 1) || substr(hex(randomblob(8)), 2))) NOT NULL,
    episode TEXT NOT NULL,
    number INTEGER NOT NULL,
    opened_at DATETIME NOT NULL,
    closed_at DATETIME NOT NULL,
    energy_start FLOAT NOT NULL,
    regenerated FLOAT NOT NULL,
    spent FLOAT NOT NULL,
    energy_end FLOAT NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT uq_heartbeats_episode_number UNIQUE (episode, number),
    CONSTRAINT ck_heartbeats_number CHECK (number >= 0),
    CONSTRAINT ck_heartbeats_times CHECK (closed_at >= opened_at),
    CONSTRAINT ck_heartbeats_energy_start CHECK (energy_start >= 0 AND energy_start <= 1000000.0),
    CONSTRAINT ck_heartbeats_regenerated CHECK (regenerated >= 0 AND regenerated <= 1000000.0),
    CONSTRAINT ck_heartbeats_spent CHECK (spent >= 0 AND spent <= 1000000.0),
    CONSTRAINT ck_heartbeats_energy_end CHECK (energy_end >= 0 AND energy_end <= 1000000.0),
    CONSTRAINT ck_heartbeats_balance CHECK (abs(energy_start + regenerated - spent - energy_end) < 0.000001)
);

CREATE TABLE energy_costs (
    target_type TEXT NOT NULL,
    target_name TEXT NOT NULL,
    revision INTEGER NOT NULL,
    cost FLOAT NOT NULL,
    floor FLOAT NOT NULL,
    ceiling FLOAT,
    category TEXT,
    effective_at DATETIME DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now')) NOT NULL,
    proposal_id CHAR(32),
    PRIMARY KEY (target_type, target_name, revision),
    CONSTRAINT fk_energy_costs_approval FOREIGN KEY(proposal_id, target_type, target_name, cost) REFERENCES energy_cost_proposals (id, target_type, target_name, new_cost),
    CONSTRAINT ck_energy_costs_target_type CHECK (target_type IN ('action', 'mcp_tool')),
    CONSTRAINT ck_energy_costs_target_name CHECK (length(trim(target_name)) > 0),
    CONSTRAINT ck_energy_costs_category CHECK (category IN ('action', 'write', 'read', 'create', 'modify', 'send_private', 'delete', 'send_public')),
    CONSTRAINT ck_energy_costs_revision CHECK ((revision = 0) = (proposal_id IS NULL)),
    CONSTRAINT ck_energy_costs_floor CHECK (floor >= 0 AND floor <= 1000000.0),
    CONSTRAINT ck_energy_costs_cost CHECK (cost >= floor AND cost <= 1000000.0),
    CONSTRAINT ck_energy_costs_ceiling CHECK (ceiling >= cost AND ceiling <= 1000000.0),
    CONSTRAINT ck_energy_costs_floor_send_private CHECK (category <> 'send_private' OR floor >= 3.0),
    CONSTRAINT ck_energy_costs_floor_delete CHECK (category <> 'delete' OR floor >= 5.0),
    CONSTRAINT ck_energy_costs_floor_send_public CHECK (category <> 'send_public' OR floor >= 6.0),
    CONSTRAINT ck_energy_costs_publish_private CHECK (target_type <> 'action' OR target_name <> 'publish_private' OR floor >= 3.0),
    CONSTRAINT ck_energy_costs_publish_public CHECK (target_type <> 'action' OR target_name <> 'publish_public' OR floor >= 6.0),
    UNIQUE (proposal_id)
);

CREATE TABLE intent_summaries (
    heartbeat_id CHAR(32) NOT NULL,
    intent TEXT NOT NULL,
    energy FLOAT NOT NULL,
    PRIMARY KEY (heartbeat_id, intent),
    CONSTRAINT ck_intent_summaries_intent CHECK (intent IN ('cognition', 'exploration', 'maintenance', 'social', 'meta')),
    CONSTRAINT ck_intent_summaries_energy CHECK (energy >= 0 AND energy <= 1000000.0),
    FOREIGN KEY(heartbeat_id) REFERENCES heartbeats (id)
);

CREATE TABLE ledger_lines (
    digest TEXT NOT NULL,
    ledger TEXT NOT NULL,
    line INTEGER NOT NULL,
    design_id TEXT,
    logged_at TEXT,
    proposal_id CHAR(32),
    discomfort_id CHAR(32),
    PRIMARY KEY (digest),
    CONSTRAINT ck_ledger_lines_one CHECK ((proposal_id IS NULL) <> (discomfort_id IS NULL)),
    UNIQUE (proposal_id),
    FOREIGN KEY(proposal_id) REFERENCES energy_cost_proposals (id),
    UNIQUE (discomfort_id),
    FOREIGN KEY(discomfort_id) REFERENCES cost_discomfort_log (id)
);

CREATE TRIGGER refuse_price_update BEFORE UPDATE ON energy_costs FOR EACH ROW BEGIN SELECT RAISE(ABORT, 'the history of costs is append-only'); END;

CREATE TRIGGER refuse_price_delete BEFORE DELETE ON energy_costs FOR EACH ROW BEGIN SELECT RAISE(ABORT, 'the history of costs is append-only'); END;

CREATE TRIGGER refuse_review_update BEFORE UPDATE ON energy_cost_proposals FOR EACH ROW WHEN (OLD.status <> 'pending') BEGIN SELECT RAISE(ABORT, 'the history of costs is append-only'); END;

CREATE TRIGGER refuse_proposal_delete BEFORE DELETE ON energy_cost_proposals FOR EACH ROW BEGIN SELECT RAISE(ABORT, 'the history of costs is append-only'); END;
