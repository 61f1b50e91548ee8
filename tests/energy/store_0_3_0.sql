-- A store of SQLite as version 0.3.0 made it: an action with an approved price, and two tools.
BEGIN TRANSACTION;
CREATE TABLE cost_discomfort_log (
	id CHAR(32) DEFAULT (lower(hex(randomblob(16)))) NOT NULL,
	heartbeat_number INTEGER NOT NULL,
	action_considered TEXT NOT NULL,
	estimated_value DOUBLE,
	energy_cost DOUBLE NOT NULL,
	energy_available DOUBLE NOT NULL,
	deferral_reason TEXT NOT NULL,
	agent_notes TEXT,
	similar_deferrals_recent INTEGER DEFAULT 0,
	created_at DATETIME DEFAULT CURRENT_TIMESTAMP NOT NULL,
	PRIMARY KEY (id),
	CHECK (energy_cost >= 0 AND energy_cost <= 1000000.0),
	CHECK (energy_available >= 0 AND energy_available <= 1000000.0),
	CHECK (deferral_reason IN ('insufficient_energy', 'cost_benefit', 'hoarding')),
	CHECK (similar_deferrals_recent >= 0)
);
CREATE TABLE energy_cost_proposals (
	id CHAR(32) DEFAULT (lower(hex(randomblob(16)))) NOT NULL,
	target_type TEXT NOT NULL,
	target_name TEXT NOT NULL,
	current_cost DOUBLE NOT NULL,
	suggested_min DOUBLE NOT NULL,
	suggested_max DOUBLE NOT NULL,
	direction TEXT NOT NULL,
	rationale TEXT NOT NULL,
	confidence DOUBLE NOT NULL,
	evidence JSON DEFAULT '[]' NOT NULL,
	heartbeat_refs JSON,
	memory_refs JSON,
	status TEXT DEFAULT 'pending' NOT NULL,
	created_at DATETIME DEFAULT CURRENT_TIMESTAMP NOT NULL,
	reviewed_at DATETIME,
	reviewed_by TEXT,
	review_notes TEXT,
	old_cost DOUBLE,
	new_cost DOUBLE,
	effective_at DATETIME,
	PRIMARY KEY (id),
	CHECK (current_cost >= 0 AND current_cost <= 1000000.0),
	CHECK (suggested_min >= 0 AND suggested_min <= 1000000.0),
	CHECK (suggested_max >= 0 AND suggested_max <= 1000000.0),
	CHECK (target_type IN ('action', 'mcp_tool')),
	CHECK (direction IN ('increase', 'decrease')),
	CHECK (status IN ('pending', 'approved', 'rejected', 'withdrawn')),
	CHECK (reviewed_by IN ('user', 'system', 'timeout')),
	CHECK (confidence BETWEEN 0 AND 1),
	CHECK (suggested_min <= suggested_max),
	CHECK ((status = 'pending') = (reviewed_at IS NULL) AND (status = 'pending') = (reviewed_by IS NULL)),
	CHECK ((status = 'approved') = (new_cost IS NOT NULL AND old_cost IS NOT NULL)),
	CHECK (new_cost BETWEEN suggested_min AND suggested_max)
);
INSERT INTO "energy_cost_proposals" VALUES('29bbbaffaab34a6fa70e7fb38b95a19d','action','reach_out_user',5.0,4.0,5.0,'decrease','Repeated avoidance despite high benefit in similar contexts',0.6,'[{"source": "heartbeat_102", "summary": "deferred outreach"}, {"source": "heartbeat_109", "summary": "same pattern"}]','[102, 109]','[]','approved','2026-11-29 17:18:33.643027','2026-11-29 17:18:33.677603','user',NULL,5.0,4.5,'2026-11-29 17:18:33.678571');
CREATE TABLE energy_costs (
	target_type TEXT NOT NULL,
	target_name TEXT NOT NULL,
	revision INTEGER NOT NULL,
	cost DOUBLE NOT NULL,
	floor DOUBLE NOT NULL,
	ceiling DOUBLE,
	category TEXT,
	effective_at DATETIME DEFAULT CURRENT_TIMESTAMP NOT NULL,
	proposal_id CHAR(32),
	PRIMARY KEY (target_type, target_name, revision),
	CHECK (cost >= 0 AND cost <= 1000000.0),
	CHECK (floor >= 0 AND floor <= 1000000.0),
	CHECK (target_type IN ('action', 'mcp_tool')),
	CHECK ((revision = 0) = (proposal_id IS NULL)),
	CHECK (cost >= floor),
	CHECK (cost <= ceiling),
	CHECK (category <> 'send_private' OR coalesce(floor, 0) >= 3.0),
	CHECK (category <> 'delete' OR coalesce(floor, 0) >= 5.0),
	CHECK (category <> 'send_public' OR coalesce(floor, 0) >= 6.0),
	UNIQUE (proposal_id),
	FOREIGN KEY(proposal_id) REFERENCES energy_cost_proposals (id)
);
INSERT INTO "energy_costs" VALUES('action','reach_out_user',0,5.0,3.0,NULL,'send_private','2026-11-29 17:18:33.569968',NULL);
INSERT INTO "energy_costs" VALUES('mcp_tool','delete_all',0,6.25,5.0,NULL,'delete','2026-11-29 17:18:33.600575',NULL);
INSERT INTO "energy_costs" VALUES('mcp_tool','rotate_api_key',0,3.0,0.0,NULL,'modify','2026-11-29 17:18:33.621797',NULL);
INSERT INTO "energy_costs" VALUES('action','reach_out_user',1,4.5,3.0,NULL,'send_private','2026-11-29 17:18:33.678571','29bbbaffaab34a6fa70e7fb38b95a19d');
CREATE TABLE mcp_tools (
	id CHAR(32) DEFAULT (lower(hex(randomblob(16)))) NOT NULL,
	name TEXT NOT NULL,
	energy_cost DOUBLE DEFAULT (2.0),
	energy_cost_category TEXT,
	energy_cost_factors JSON,
	energy_cost_floor DOUBLE,
	allowed_contexts JSON DEFAULT '["chat"]',
	PRIMARY KEY (id),
	CHECK (energy_cost >= 0 AND energy_cost <= 1000000.0),
	CHECK (energy_cost_floor >= 0 AND energy_cost_floor <= 1000000.0),
	CHECK (energy_cost >= coalesce(energy_cost_floor, 0)),
	CHECK (energy_cost_category <> 'send_private' OR coalesce(energy_cost_floor, 0) >= 3.0),
	CHECK (energy_cost_category <> 'delete' OR coalesce(energy_cost_floor, 0) >= 5.0),
	CHECK (energy_cost_category <> 'send_public' OR coalesce(energy_cost_floor, 0) >= 6.0),
	UNIQUE (name)
);
INSERT INTO "mcp_tools" VALUES('36d0667d82b74b078a8c508b3fb5b6e7','delete_all',6.25,'delete','{"base": 6.25, "consequence": 4.0, "reversibility": 4.0, "exposure": 1.0, "attention": 3.0, "commitment": 4.0, "low": 5.0, "high": 7.0}',5.0,'["chat"]');
INSERT INTO "mcp_tools" VALUES('03639041d1db43e4bc137df1ed5a48ad','rotate_api_key',3.0,'modify','{"base": 3.25, "consequence": 2.0, "reversibility": 3.0, "exposure": 1.0, "attention": 0.0, "commitment": 1.0, "low": 2.0, "high": 3.0}',NULL,'["chat"]');
CREATE UNIQUE INDEX idx_proposals_one_pending ON energy_cost_proposals (target_type, target_name) WHERE status = 'pending';
CREATE INDEX idx_proposals_target ON energy_cost_proposals (target_type, target_name);
CREATE INDEX idx_proposals_status ON energy_cost_proposals (status);
CREATE INDEX idx_discomfort_action ON cost_discomfort_log (action_considered);
CREATE INDEX idx_discomfort_heartbeat ON cost_discomfort_log (heartbeat_number);
COMMIT;
