-- The whole database of Portcullis. Sections: organisations and keys, people, generations, firewall, game servers,
-- edges, detection, attacks, mitigations, policies and live generations, events, webhooks, operation.

-- Every object is either named by the fleet file or made in the portal or on the command line.
create type owner as enum ('fleet', 'portal');

---------------------------------------------------------------------------------------------------------------------
-- Organisations and keys: who may do what, over which addresses, and when
---------------------------------------------------------------------------------------------------------------------

create table organisations (
  id bigint generated always as identity primary key,
  slug text not null unique check (slug ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
  -- what a billing system calls it
  external_id text unique,
  name text not null,
  flags text[] not null default '{}',
  rules_per_ip integer not null default 100 check (rules_per_ip between 0 and 100000),
  filters_per_ip integer not null default 25 check (filters_per_ip between 0 and 100000),
  max_ports_per_request integer not null default 101 check (max_ports_per_request between 1 and 65535),
  attack_history_days integer not null default 90 check (attack_history_days between 1 and 36500),
  configured_addresses integer not null default 10000 check (configured_addresses >= 0),
  requests_per_minute integer not null default 600 check (requests_per_minute >= 1),
  -- {"pps", "mbps", "holdSeconds", "mitigation", "safelist"}; the containing scope decides what is missing or null
  detection jsonb not null default '{}' check (jsonb_typeof(detection) = 'object'),
  owner owner not null,
  created_at timestamptz not null default now()
);

create table asns (
  asn bigint primary key check (asn between 1 and 4294967295),
  -- null: the operator's, under which any organisation's prefix may be announced
  organisation_id bigint references organisations,
  owner owner not null
);

create table services (
  id integer primary key,
  organisation_id bigint not null references organisations,
  name text not null,
  active boolean not null default true,
  -- [{"type": slug, "ports": port expression or null}]; null ports: those of its game servers
  managed_filters jsonb not null default '[{"type": "tcp-syn-proxy", "ports": null}, {"type": "udp-stateful", "ports": null}]',
  -- as in organisations
  detection jsonb not null default '{}' check (jsonb_typeof(detection) = 'object'),
  owner owner not null,
  -- game servers refer to the pair, so that a server belongs to a service of its own organisation
  constraint services_organisation unique (id, organisation_id)
);

-- A prefix of the organisation, announced under its ASN, the operator's or none of both, or a prefix or address of a service
-- of it, for a time.
-- The most specific holding has the address; equal ones may not overlap in time.
create table holdings (
  id bigint generated always as identity primary key,
  organisation_id bigint not null references organisations,
  cidr cidr not null,
  during tstzrange not null check (not isempty(during) and lower(during) is not null),
  asn bigint references asns,
  service_id integer references services,
  -- as in organisations
  detection jsonb not null default '{}' check (jsonb_typeof(detection) = 'object'),
  owner owner not null,
  check (asn is null or service_id is null),
  constraint holdings_one_holder exclude using gist (cidr inet_ops with =, during with &&)
);
create index holdings_cidr on holdings using gist (cidr inet_ops);
create index holdings_organisation on holdings (organisation_id);
create index holdings_begin on holdings (lower(during));
create index holdings_end on holdings (upper(during)) where upper(during) is not null;

create table api_keys (
  id bigint generated always as identity primary key,
  -- null: a key of the operator
  organisation_id bigint references organisations,
  name text not null,
  -- SHA-256 of the whole key; the plaintext is shown once and stored nowhere
  secret_hash bytea not null unique check (length(secret_hash) = 32),
  -- the first characters after the fixed prefix, to recognise a key by
  hint text not null,
  abilities text[] not null,
  -- the servers that the key sees; null: every server of the organisation
  servers uuid[],
  -- those of them that it may also instruct; null: all that it sees
  managed_servers uuid[],
  -- null: everything the organisation holds
  prefixes cidr[],
  -- null: callable from anywhere
  sources cidr[],
  expires_at timestamptz,
  revoked_at timestamptz,
  -- set while a key is missing from the fleet file: refused until the file names it again
  suspended_at timestamptz,
  last_used_at timestamptz,
  created_at timestamptz not null default now(),
  owner owner not null,
  check (case when organisation_id is null then abilities <@ '{operator.read,operator.manage}'
              else not abilities && '{operator.read,operator.manage}' end)
);
create index api_keys_organisation on api_keys (organisation_id);
-- The fleet file identifies its keys by name.
create unique index api_keys_fleet_name on api_keys (organisation_id, name) where owner = 'fleet';

-- What was done, by whom, from where. Written in the transaction that does it.
create table audit (
  id bigint generated always as identity primary key,
  at timestamptz not null default clock_timestamp(),
  organisation_id bigint references organisations,
  -- 'key', 'user' (a person in the portal), 'operator' (the command line), 'fleet' (the file), 'system'
  actor_kind text not null,
  actor text not null,
  source inet,
  request_id text,
  action text not null,
  target text not null,
  detail jsonb not null default '{}',
  generation bigint
);
create index audit_at on audit (at);
create index audit_organisation on audit (organisation_id, at);
-- The history of an address reads who made a generation.
create index audit_generation on audit (generation) where generation is not null;

create table idempotency_keys (
  -- of an API key, or of a session the negative id of its person; so it has no foreign key
  api_key_id bigint not null,
  method text not null,
  path text not null,
  idempotency_key text not null,
  body_hash bytea not null,
  status integer not null,
  headers jsonb not null,
  body text not null,
  created_at timestamptz not null default now(),
  primary key (api_key_id, method, path, idempotency_key)
);
create index idempotency_keys_created on idempotency_keys (created_at);

---------------------------------------------------------------------------------------------------------------------
-- People who sign in to the portal. No column holds a password, token or recovery code that could be used.
---------------------------------------------------------------------------------------------------------------------

create table people (
  id bigint generated always as identity primary key,
  -- in lower case
  email text not null unique check (email = lower(email)),
  name text not null,
  -- argon2id, in PHC format
  password_hash text not null,
  is_operator boolean not null default false,
  -- 20 bytes; not in force before it is confirmed
  totp_secret bytea,
  totp_confirmed_at timestamptz,
  -- the last step of 30 s whose code was accepted, so that no code is accepted twice
  totp_last_step bigint not null default 0,
  disabled_at timestamptz,
  created_at timestamptz not null default now()
);

create table recovery_codes (
  person_id bigint not null references people on delete cascade,
  code_hash bytea not null,
  primary key (person_id, code_hash)
);

create table passkeys (
  id bigint generated always as identity primary key,
  person_id bigint not null references people on delete cascade,
  name text not null,
  credential_id text not null unique,
  public_key bytea not null,
  counter bigint not null,
  transports text[] not null,
  created_at timestamptz not null default now(),
  last_used_at timestamptz
);
create index passkeys_person on passkeys (person_id);

-- Each is deleted when it is answered.
create table passkey_challenges (
  challenge text primary key,
  -- null: for a sign-in
  person_id bigint references people on delete cascade,
  expires_at timestamptz not null
);

create table members (
  organisation_id bigint not null references organisations on delete cascade,
  person_id bigint not null references people on delete cascade,
  role text not null check (role in ('read-only', 'member', 'admin', 'owner')),
  since timestamptz not null default now(),
  primary key (organisation_id, person_id)
);
create index members_person on members (person_id);

create table sessions (
  id bigint generated always as identity primary key,
  -- SHA-256 of the cookie
  token_hash bytea not null unique,
  person_id bigint not null references people on delete cascade,
  -- the organisation that an operator acts for
  acting_id bigint references organisations on delete cascade,
  source inet,
  user_agent text,
  created_at timestamptz not null default now(),
  last_seen_at timestamptz not null default now(),
  expires_at timestamptz not null
);
create index sessions_person on sessions (person_id);
create index sessions_expiry on sessions (expires_at);

-- Ends the event streams of those who lost a right, on every replica. Equal notifications of a transaction are one.
create function access_changed() returns trigger language plpgsql as $$
begin
  perform pg_notify('portcullis_access', '');
  return null;
end
$$;
create trigger members_access after delete or update on members
  for each row execute function access_changed();
create trigger sessions_access after delete or update of acting_id on sessions
  for each row execute function access_changed();
create trigger people_access after update of disabled_at, is_operator on people
  for each row execute function access_changed();
create trigger organisations_access after delete or update on organisations
  for each row execute function access_changed();

-- Links that are sent to people: each is used once.
create table portal_links (
  id bigint generated always as identity primary key,
  token_hash bytea not null unique,
  kind text not null check (kind in ('operator', 'invitation', 'reset')),
  email text,
  organisation_id bigint references organisations on delete cascade,
  role text check (role in ('read-only', 'member', 'admin', 'owner')),
  person_id bigint references people on delete cascade,
  created_by text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  used_at timestamptz,
  check (kind <> 'reset' or person_id is not null),
  check ((organisation_id is null) = (role is null))
);

-- Browsers that a person signed in with, so that strangers cannot lock them out.
create table devices (
  id bigint generated always as identity primary key,
  -- SHA-256 of the cookie
  token_hash bytea not null unique,
  person_id bigint not null references people on delete cascade,
  last_seen_at timestamptz not null default now()
);
create index devices_person on devices (person_id);
create index devices_seen on devices (last_seen_at);

-- Attempts on passwords and codes since the last success.
create table sign_in_attempts (
  email text not null,
  -- a source, a device or a session that tries; empty: all sources together
  origin text not null,
  attempts integer not null,
  last_at timestamptz not null,
  primary key (email, origin)
);

---------------------------------------------------------------------------------------------------------------------
-- Generations
---------------------------------------------------------------------------------------------------------------------

-- The fleet's one generation. Its row lock makes commit order and generation order the same: take it last.
create table fleet (
  one boolean primary key default true check (one),
  generation bigint not null default 0,
  -- holdings that began or ended up to this time are in a generation
  holdings_until timestamptz not null default '-infinity'
);
insert into fleet default values;

create table generations (
  generation bigint primary key,
  created_at timestamptz not null default clock_timestamp(),
  cause text not null,
  -- when the last edge in service had it; null: not yet, or nothing enforces
  live_at timestamptz,
  -- of the request that took it, where requests are traced
  traceparent text default nullif(current_setting('portcullis.traceparent', true), '')
);
create index generations_pending on generations (generation) where live_at is null;

-- What an edge must fetch again: every target that a generation may have changed.
-- A prefix stands for itself and for everything inside it.
create table changes (
  generation bigint not null references generations on delete cascade,
  target cidr not null,
  primary key (generation, target)
);

---------------------------------------------------------------------------------------------------------------------
-- Firewall. Objects belong to a holding: a new holder starts empty.
---------------------------------------------------------------------------------------------------------------------

create table addresses (
  id bigint generated always as identity primary key,
  holding_id bigint not null references holdings,
  ip inet not null check (masklen(ip) = case family(ip) when 4 then 32 else 128 end),
  -- has an accepted object of its own; counted against configured_addresses
  configured boolean not null default false,
  unique (holding_id, ip)
);
create index addresses_ip on addresses (ip);

-- One sequence for own and group rules: both appear in an address's view by id.
create sequence rule_ids;

create table rules (
  id bigint primary key default nextval('rule_ids'),
  address_id bigint not null references addresses,
  action text not null check (action in ('allow', 'deny')),
  protocol text not null check (protocol in ('tcp', 'udp', 'icmp', 'gre', 'esp', 'any')),
  source cidr,
  port integer check (port between 1 and 65535),
  -- A rule may name a port of a game server. `port` is what the name meant when the row was written: the transaction
  -- that changes the allocation writes a new row. No foreign key, because deleted rules outlive servers.
  port_server uuid,
  port_name text,
  note text,
  tags text[] not null default '{}',
  -- The caller's own name for it, and when it ends by itself. Like notes they change without a generation.
  ref text check (char_length(ref) between 1 and 100),
  expires_at timestamptz,
  created_generation bigint not null,
  created_at timestamptz not null default now(),
  deleted_generation bigint,
  deleted_at timestamptz,
  check (port is null or protocol in ('tcp', 'udp')),
  check ((deleted_generation is null) = (deleted_at is null)),
  check ((port_server is null) = (port_name is null)),
  check (port_name is null or port is not null)
);
-- A rule that follows a name may come to a port that another rule has by number.
create unique index rules_identical on rules (address_id, action, protocol, source, port, port_server, port_name)
  nulls not distinct where deleted_generation is null;
-- The rules as of a generation, without reading everything that was ever deleted.
create index rules_active on rules (address_id, coalesce(deleted_generation, 9223372036854775807));
create unique index rules_ref on rules (address_id, ref) where deleted_generation is null and ref is not null;
create index rules_expiry on rules (expires_at) where deleted_generation is null and expires_at is not null;
create index rules_deleted on rules (deleted_at) where deleted_at is not null;
create index rules_port_server on rules (port_server) where port_server is not null and deleted_generation is null;
-- Addresses are found by the notes and tags of their rules.
create index rules_annotated on rules (address_id) where deleted_generation is null and (note is not null or tags <> '{}');

create table filters (
  id bigint generated always as identity primary key,
  address_id bigint not null references addresses,
  type text not null,
  port integer not null check (port between 1 and 65535),
  -- FilterSettings of core; what is absent stays as the filter has it.
  settings jsonb not null default '{}',
  created_generation bigint not null,
  created_at timestamptz not null default now(),
  deleted_generation bigint,
  deleted_at timestamptz,
  check ((deleted_generation is null) = (deleted_at is null))
);
create unique index filters_identical on filters (address_id, type, port) where deleted_generation is null;
create index filters_active on filters (address_id, coalesce(deleted_generation, 9223372036854775807));
create index filters_deleted on filters (deleted_at) where deleted_at is not null;

create table groups (
  id bigint generated always as identity primary key,
  organisation_id bigint not null references organisations,
  name text not null,
  owner owner not null,
  deleted_at timestamptz
);
create unique index groups_name on groups (organisation_id, name) where deleted_at is null;

create table group_rules (
  id bigint primary key default nextval('rule_ids'),
  group_id bigint not null references groups,
  action text not null check (action in ('allow', 'deny')),
  protocol text not null check (protocol in ('tcp', 'udp', 'icmp', 'gre', 'esp', 'any')),
  source cidr,
  port integer check (port between 1 and 65535),
  -- as in rules
  port_server uuid,
  port_name text,
  created_generation bigint not null,
  created_at timestamptz not null default now(),
  deleted_generation bigint,
  deleted_at timestamptz,
  check (port is null or protocol in ('tcp', 'udp')),
  check ((port_server is null) = (port_name is null)),
  check (port_name is null or port is not null)
);
create unique index group_rules_identical on group_rules (group_id, action, protocol, source, port, port_server, port_name)
  nulls not distinct where deleted_generation is null;
create index group_rules_group on group_rules (group_id);
create index group_rules_port_server on group_rules (port_server)
  where port_server is not null and deleted_generation is null;

create table group_filters (
  id bigint generated always as identity primary key,
  group_id bigint not null references groups,
  type text not null,
  port integer not null check (port between 1 and 65535),
  created_generation bigint not null,
  created_at timestamptz not null default now(),
  deleted_generation bigint,
  deleted_at timestamptz
);
create unique index group_filters_identical on group_filters (group_id, type, port) where deleted_generation is null;
create index group_filters_group on group_filters (group_id);

-- A group on an address, or on a prefix and so on everything in it that the same holding has.
create table group_assignments (
  id bigint generated always as identity primary key,
  group_id bigint not null references groups,
  holding_id bigint not null references holdings,
  target cidr not null,
  created_generation bigint not null,
  created_at timestamptz not null default now(),
  deleted_generation bigint,
  deleted_at timestamptz
);
create unique index group_assignments_identical on group_assignments (group_id, holding_id, target)
  where deleted_generation is null;
create index group_assignments_target on group_assignments using gist (target inet_ops);

create table geo_rules (
  id bigint generated always as identity primary key,
  organisation_id bigint not null references organisations,
  action text not null check (action in ('deny', 'only')),
  countries text[] not null default '{}',
  asns bigint[] not null default '{}',
  owner owner not null,
  created_generation bigint not null,
  created_at timestamptz not null default now(),
  deleted_generation bigint,
  deleted_at timestamptz,
  check (cardinality(countries) + cardinality(asns) > 0)
);

create table geo_assignments (
  id bigint generated always as identity primary key,
  geo_rule_id bigint not null references geo_rules,
  holding_id bigint not null references holdings,
  target cidr not null,
  created_generation bigint not null,
  created_at timestamptz not null default now(),
  deleted_generation bigint,
  deleted_at timestamptz
);
create unique index geo_assignments_identical on geo_assignments (geo_rule_id, holding_id, target)
  where deleted_generation is null;
create index geo_assignments_target on geo_assignments using gist (target inet_ops);

-- The verdict on packets that no rule matches, of an address or a prefix; the most specific one inside the holding wins.
create table default_actions (
  id bigint generated always as identity primary key,
  holding_id bigint not null references holdings,
  target cidr not null,
  action text not null check (action in ('accept', 'deny')),
  owner owner not null,
  created_generation bigint not null,
  created_at timestamptz not null default now(),
  deleted_generation bigint,
  deleted_at timestamptz
);
create unique index default_actions_identical on default_actions (holding_id, target)
  where deleted_generation is null;
create index default_actions_target on default_actions using gist (target inet_ops);
create index default_actions_deleted on default_actions (deleted_at) where deleted_at is not null;

-- Networks whose packets are dropped before any allow rule is read: for a whole organisation, a prefix or an address.
create table blocked_sources (
  id bigint generated always as identity primary key,
  organisation_id bigint not null references organisations,
  -- both null: everything that the organisation holds
  holding_id bigint references holdings,
  target cidr,
  source cidr not null,
  note text not null default '',
  expires_at timestamptz,
  owner owner not null,
  created_generation bigint not null,
  created_at timestamptz not null default now(),
  deleted_generation bigint,
  deleted_at timestamptz,
  check ((holding_id is null) = (target is null))
);
create unique index blocked_sources_identical
  on blocked_sources (organisation_id, holding_id, target, source) nulls not distinct where deleted_generation is null;
create index blocked_sources_target on blocked_sources using gist (target inet_ops);
create index blocked_sources_expiry on blocked_sources (expires_at) where deleted_generation is null and expires_at is not null;
-- Every sync of an edge asks when any list changed last.
create index blocked_sources_changed on blocked_sources (greatest(created_generation, deleted_generation));
create index blocked_sources_deleted on blocked_sources (deleted_at) where deleted_at is not null;

-- The name of the source set that a list of blocked sources is for edges: a list is of an organisation or of a target.
create function blocked_set(organisation_id bigint, holding_id bigint, target cidr) returns text immutable language sql as $$
  select 'blocked:' || organisation_id || coalesce('.' || holding_id || '.' || translate(target::text, ':/', '_-'), '')
$$;

-- The operator's own rules for a prefix; owned by the fleet file alone.
create table baseline_rules (
  id bigint generated always as identity primary key,
  prefix cidr not null,
  action text not null check (action in ('allow', 'deny')),
  protocol text not null check (protocol in ('tcp', 'udp', 'icmp', 'gre', 'esp', 'any')),
  source cidr,
  port integer check (port between 1 and 65535),
  created_generation bigint not null,
  created_at timestamptz not null default now(),
  deleted_generation bigint,
  deleted_at timestamptz,
  check (port is null or protocol in ('tcp', 'udp'))
);
create unique index baseline_rules_identical on baseline_rules (prefix, action, protocol, source, port)
  nulls not distinct where deleted_generation is null;

---------------------------------------------------------------------------------------------------------------------
-- Game servers and the nodes that run them
---------------------------------------------------------------------------------------------------------------------

create table nodes (
  id bigint generated always as identity primary key,
  name text not null unique check (name ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$'),
  owner owner not null,
  -- what it offers to servers that are placed; null: without limit
  memory_mib integer check (memory_mib >= 1),
  disk_mib integer check (disk_mib >= 1),
  addresses inet[] not null default '{}',
  -- a port expression
  given_ports text not null default '25565-25664',
  -- SHA-256 of what the node presents; null: not enrolled yet, so it is refused
  credential_hash bytea check (length(credential_hash) = 32),
  enrolled_at timestamptz,
  -- public key by which NATS knows it, made of the same credential
  nats_key text,
  -- the process that speaks for the node: the last one that said hello
  instance text,
  last_seen_at timestamptz,
  -- {"kind", "version", "problem"} of its last heartbeat
  engine jsonb,
  -- set when the last heartbeat is so old that nobody knows what runs there; the next heartbeat clears it
  lost_at timestamptz,
  check ((credential_hash is null) = (enrolled_at is null))
);

-- The keys from which every credential for NATS is derived, and the authority of its servers' certificates. Made when first
-- needed; whoever reads them can pose as control.
create table nats (
  single boolean primary key default true check (single),
  operator_seed bytea not null check (length(operator_seed) = 32),
  system_seed bytea not null check (length(system_seed) = 32),
  account_seed bytea not null check (length(account_seed) = 32),
  -- PEM
  authority_key text not null,
  authority_cert text not null,
  -- URLs for agents, as control was last started with
  servers text[] not null default '{}'
);

-- Keys of credentials that were replaced or removed; NATS refuses them.
create table nats_revocations (
  key text primary key,
  revoked_at timestamptz not null default now()
);

create function revoke_nats_key() returns trigger language plpgsql as $$
begin
  if old.nats_key is not null and (tg_op = 'DELETE' or new.nats_key is distinct from old.nats_key) then
    insert into nats_revocations (key) values (old.nats_key) on conflict do nothing;
  end if;
  return null;
end
$$;
create trigger nodes_nats_key after delete or update of nats_key
  on nodes for each row execute function revoke_nats_key();

-- Credentials that replace those of agents once they are presented: until then the agent may not have received its one.
create table credential_renewals (
  kind text not null check (kind in ('edge', 'node', 'collector')),
  name text not null,
  credential_hash bytea not null check (length(credential_hash) = 32),
  nats_key text not null,
  issued_at timestamptz not null default now(),
  primary key (kind, name)
);

-- What a new host trades for a credential of its own, once.
create table join_tokens (
  id bigint generated always as identity primary key,
  secret_hash bytea not null unique check (length(secret_hash) = 32),
  kind text not null check (kind in ('edge', 'node', 'collector')),
  name text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  needs_approval boolean not null,
  approved_at timestamptz,
  -- where a host presented it that waits for approval
  presented_from inet,
  used_at timestamptz
);

-- A node, collector or edge whose credential was replaced or removed must authenticate again.
create function notify_enrolment() returns trigger language plpgsql as $$
begin
  perform pg_notify('portcullis_enrolment', old.name);
  return null;
end
$$;
create trigger nodes_enrolment after delete or update of credential_hash, name
  on nodes for each row execute function notify_enrolment();

-- One row for each egg, by the SHA-256 of its canonical JSON; a sweep deletes those that no server names.
create table eggs (
  digest text primary key check (digest ~ '^[0-9a-f]{64}$'),
  egg jsonb not null
);

create table game_servers (
  uuid uuid primary key,
  organisation_id bigint not null references organisations,
  -- what a billing system calls it
  external_id text,
  service_id integer not null,
  node_id bigint not null references nodes,
  name text not null check (char_length(name) between 1 and 200),
  egg_digest text not null references eggs,
  -- as the fleet file names it, for people
  egg_name text not null,
  -- label of one of the egg's images; null: the first
  image text,
  variables jsonb not null default '{}' check (jsonb_typeof(variables) = 'object'),
  memory_mib integer not null check (memory_mib >= 1),
  cpu_percent integer not null check (cpu_percent >= 1),
  disk_mib integer not null check (disk_mib >= 1),
  ip inet not null check (masklen(ip) = case family(ip) when 4 then 32 else 128 end),
  port integer not null check (port between 1 and 65535),
  -- all ports of the server, the first one too; empty: `ip` and `port` with the protocols of the egg
  ports jsonb not null default '[]' check (jsonb_typeof(ports) = 'array'),
  -- its ports are allowed while it runs: all, or those with the names in open_ports
  open_while_running boolean not null default false,
  open_ports text[],
  suspended boolean not null default false,
  crash_restart boolean not null default true,
  crash_within_ms integer not null default 60000 check (crash_within_ms between 0 and 86400000),
  -- raised to install anew; a report of another epoch is about another build
  build_epoch integer not null default 1 check (build_epoch >= 1),
  build_state text not null default 'waiting' check (build_state in ('waiting', 'building', 'built', 'failed')),
  build_reason text,
  build_log text,
  provisioned boolean not null generated always as (build_state = 'built') stored,
  -- short, for people; there while it is provisioned
  identifier text,
  -- as its node last reported it; null: not yet
  power_state text,
  crashed_at_ms double precision,
  owner owner not null,
  created_at timestamptz not null default now(),
  foreign key (service_id, organisation_id) references services (id, organisation_id),
  constraint game_servers_external_id unique (organisation_id, external_id),
  check ((identifier is not null) = (build_state = 'built'))
);
create index game_servers_organisation on game_servers (organisation_id, name, uuid);
create index game_servers_node on game_servers (node_id);
create index game_servers_service on game_servers (service_id);
create index game_servers_egg on game_servers (egg_digest);
create index game_servers_open_while_running on game_servers (node_id) where open_while_running;

-- A node is notified when its required state changed; its own reports do not notify it.
create function notify_node() returns trigger language plpgsql as $$
begin
  if tg_op <> 'INSERT' then
    perform pg_notify('portcullis_nodes', name) from nodes where id = old.node_id;
  end if;
  if tg_op <> 'DELETE' then
    perform pg_notify('portcullis_nodes', name) from nodes where id = new.node_id;
  end if;
  return null;
end
$$;
create trigger game_servers_notify after insert or delete or update of
    organisation_id, node_id, name, egg_digest, image, variables, memory_mib, cpu_percent, disk_mib, ip, port, ports,
    suspended, crash_restart, crash_within_ms, build_epoch
  on game_servers for each row execute function notify_node();

-- Kept by a trigger, so that no two servers ever have the same port.
create table server_ports (
  uuid uuid not null references game_servers on delete cascade,
  ip inet not null,
  port integer not null check (port between 1 and 65535),
  -- Deferred, so that two servers can exchange ports in one transaction.
  constraint game_servers_allocation unique (ip, port) deferrable initially deferred
);
create index server_ports_server on server_ports (uuid);

create function list_server_ports() returns trigger language plpgsql as $$
begin
  delete from server_ports where uuid = new.uuid;
  insert into server_ports (uuid, ip, port)
  select new.uuid, new.ip, new.port
  union select new.uuid, (p ->> 'ip')::inet, (p ->> 'port')::integer from jsonb_array_elements(new.ports) p;
  return null;
end
$$;
create trigger game_servers_ports after insert or update of ip, port, ports on game_servers
  for each row execute function list_server_ports();

-- The first port is `primary`, whatever else it is called.
create view named_ports as
  select g.uuid, g.organisation_id, g.service_id, p.name, p.ip, p.port
    from game_servers g, lateral (
      select 'primary' as name, g.ip, g.port
      union
      select p ->> 'name', (p ->> 'ip')::inet, (p ->> 'port')::integer
        from jsonb_array_elements(g.ports) p where p ->> 'name' is not null) p;

-- `Survival:query`; the uuid where the organisation has several servers of that name.
create function shown_port(server uuid, port text) returns text stable language sql as $$
  select coalesce((select g.name from game_servers g
                    where g.uuid = server and not exists (
                      select from game_servers o where o.organisation_id = g.organisation_id
                         and o.name = g.name and o.uuid <> g.uuid)), server::text) || ':' || port
$$;

-- Whether packets to an address arrive at the address that a server of this service has bound. A server on an address
-- that nobody holds (behind NAT) may be reached at any address of its service; one on loopback is not reached.
create function reaches(address inet, bound inet, service integer) returns boolean stable language sql as $$
  select bound = address
      or (not bound <<= any ('{127.0.0.0/8,::1}'::inet[])
          and exists (select from holdings h where h.service_id = service and h.during @> statement_timestamp()
                         and host(h.cidr)::inet = address)
          and not exists (select from holdings h where h.cidr >>= bound and h.during @> statement_timestamp()))
$$;

-- The ports of running servers that are allowed at present, from the reports of nodes. No foreign key on the server,
-- because deleted rows outlive it.
create table server_openings (
  id bigint generated always as identity primary key,
  server uuid not null,
  holding_id bigint not null references holdings,
  ip inet not null check (masklen(ip) = case family(ip) when 4 then 32 else 128 end),
  protocol text not null check (protocol in ('tcp', 'udp')),
  port integer not null check (port between 1 and 65535),
  created_generation bigint not null,
  created_at timestamptz not null default now(),
  deleted_generation bigint,
  deleted_at timestamptz,
  check ((deleted_generation is null) = (deleted_at is null))
);
create unique index server_openings_identical on server_openings (server, holding_id, ip, protocol, port)
  where deleted_generation is null;
create index server_openings_ip on server_openings (ip);
create index server_openings_holding on server_openings (holding_id);
create index server_openings_deleted on server_openings (deleted_at) where deleted_at is not null;

-- The ports of running servers that should be allowed, at the addresses where they are reached. `stopping` counts as
-- running: players are informed why, and data is saved.
create view wanted_openings as
  select distinct g.uuid as server, t.holding_id, t.ip, protocol, p.port
    from game_servers g
    join nodes n on n.id = g.node_id and n.lost_at is null
    join eggs e on e.digest = g.egg_digest
    cross join lateral (
      select g.ip, g.port, e.egg -> 'protocols' as protocols, array['primary'] as names where g.ports = '[]'
      union all
      select (x ->> 'ip')::inet, (x ->> 'port')::integer, x -> 'protocols',
             array[x ->> 'name', case when number = 1 then 'primary' end]
        from jsonb_array_elements(g.ports) with ordinality as listed (x, number)) p
    cross join lateral jsonb_array_elements_text(p.protocols) protocol
    cross join lateral (
      select h.id as holding_id, h.organisation_id, p.ip
        from (select * from holdings where cidr >>= p.ip and during @> statement_timestamp()
               order by masklen(cidr) desc limit 1) h
      union all
      select h.id, h.organisation_id, host(h.cidr)::inet from holdings h
       where h.service_id = g.service_id and h.during @> statement_timestamp()
         and host(h.cidr)::inet <> p.ip and reaches(host(h.cidr)::inet, p.ip, g.service_id)) t
   where g.open_while_running and g.provisioned and g.power_state in ('running', 'stopping')
     and t.organisation_id = g.organisation_id and (g.open_ports is null or g.open_ports && p.names);

-- What running servers use: the first report of each minute, kept for a day (retention.ts).
create table server_samples (
  uuid uuid not null references game_servers on delete cascade,
  minute timestamptz not null,
  memory_bytes bigint not null,
  cpu_absolute double precision not null,
  disk_bytes bigint not null,
  -- since the start of the server
  network_rx_bytes bigint not null,
  network_tx_bytes bigint not null,
  primary key (uuid, minute)
);
create index server_samples_minute on server_samples (minute);

---------------------------------------------------------------------------------------------------------------------
-- Edges: their configuration, what they report, and what they dropped or passed
---------------------------------------------------------------------------------------------------------------------

create table edges (
  id bigint generated always as identity primary key,
  name text not null unique check (name ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$'),
  site text not null,
  devices text[] not null,
  serves cidr[] not null,
  sees text not null check (sees in ('both', 'inbound')),
  fragments text not null check (fragments in ('reassemble', 'limit')),
  management jsonb not null,
  owner owner not null,
  -- as of nodes
  credential_hash bytea,
  enrolled_at timestamptz,
  nats_key text,
  -- its instance has not received a whole sync since its first hello
  needs_whole_sync boolean not null default true,
  -- first time an agent of this name enforced, or would have with a device; null: it never did, and never counts
  enforcing_since timestamptz,
  instance text,
  -- no_device: it would enforce, but no packet can come in by its devices
  mode text check (mode in ('enforce', 'observe', 'no_device')),
  mode_reason text,
  last_seen_at timestamptz,
  -- newest generation in its kernel (but for the targets it refused)
  confirmed_generation bigint not null default 0,
  -- the generation that it must confirm after (re)joining before it counts
  joins_at_generation bigint not null default 0,
  in_service boolean not null default false,
  left_service_at timestamptz,
  -- the last heartbeat's, as link/messages/edge-report.ts reads it
  report jsonb,
  -- no packet can come in by some of its devices
  lacks_device boolean generated always as
    (coalesce(jsonb_path_exists(report, '$.devices[*] ? (@.receives == false)'), false)) stored
);
create trigger edges_nats_key after delete or update of nats_key
  on edges for each row execute function revoke_nats_key();
create trigger edges_enrolment after delete or update of credential_hash, name
  on edges for each row execute function notify_enrolment();

create table edge_refusals (
  edge_id bigint not null references edges on delete cascade,
  target cidr not null,
  reason text not null,
  good_generation bigint not null,
  primary key (edge_id, target)
);

-- Packets that edges dropped, by minute; kept for a day (retention.ts), written as edges report.
-- They belong to the holding that had the address for all of that time: a new holder sees nothing from before.
-- No reference to edges: it would lock the edge's row, which its heartbeats renew.
create table drop_counts (
  holding_id bigint not null references holdings on delete cascade,
  -- an address, or the prefix whose policy dropped where the edge counts no finer
  target cidr not null,
  minute timestamptz not null,
  edge_id bigint not null,
  stage text not null,
  reason text not null,
  dropped_by text not null,
  packets bigint not null,
  bytes bigint not null,
  primary key (holding_id, target, minute, edge_id, stage, reason, dropped_by)
) with (fillfactor = 80);
create index drop_counts_minute on drop_counts (minute);

create table drop_samples (
  id bigint generated always as identity primary key,
  holding_id bigint not null references holdings on delete cascade,
  destination inet not null,
  at timestamptz not null,
  edge_id bigint not null,
  target cidr not null,
  stage text not null,
  reason text not null,
  dropped_by text not null,
  source inet not null,
  protocol smallint not null,
  source_port integer,
  destination_port integer,
  length bigint not null,
  device text
);
create index drop_samples_newest on drop_samples (holding_id, destination, at desc, id desc);
create index drop_samples_at on drop_samples (at);

-- The newest report of each edge that was counted: a repeated one is not counted again.
create table drop_reports (
  edge_id bigint primary key,
  instance text not null,
  sequence bigint not null
);

-- Packets that passed, as edges sample them: what a default of deny would drop. Kept for a day (retention.ts).
-- Belongs to a holding as drop_counts does, and has no reference to edges for the same reason.
create table passed_samples (
  holding_id bigint not null references holdings on delete cascade,
  destination inet not null,
  hour timestamptz not null,
  protocol smallint not null,
  -- -1: the protocol has none
  destination_port integer not null check (destination_port between -1 and 65535),
  source inet not null,
  edge_id bigint not null,
  packets bigint not null,
  last_at timestamptz not null,
  primary key (holding_id, destination, hour, protocol, destination_port, source, edge_id)
) with (fillfactor = 80);
create index passed_samples_hour on passed_samples (hour);

---------------------------------------------------------------------------------------------------------------------
-- Detection: collectors, the control plane that detects, and changes of settings
---------------------------------------------------------------------------------------------------------------------

create table collectors (
  id bigint generated always as identity primary key,
  name text not null unique check (name ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$'),
  -- ADDRESS:PORT
  listen text not null,
  -- [{"ip", "samplingRate": packets or null, "prefixes": networks or null}]
  exporters jsonb not null check (jsonb_typeof(exporters) = 'array'),
  -- an edge of this site counts the same traffic; null: the first edge's
  site text,
  owner owner not null,
  -- as of nodes
  credential_hash bytea check (length(credential_hash) = 32),
  enrolled_at timestamptz,
  nats_key text,
  -- the process that spoke last; another one says hello first
  instance text,
  last_seen_at timestamptz,
  report jsonb,
  check ((credential_hash is null) = (enrolled_at is null))
);

create trigger collectors_nats_key after delete or update of nats_key
  on collectors for each row execute function revoke_nats_key();

-- By name, because the row may be gone when the notification arrives.
create function notify_collectors() returns trigger language plpgsql as $$
begin
  perform pg_notify('portcullis_collectors', coalesce(new.name, old.name));
  return null;
end
$$;
create trigger collectors_notify after insert or delete or update of name, listen, exporters, site, credential_hash
  on collectors for each row execute function notify_collectors();

-- Of all control planes one runs the detector, so that counts of several agents add up. Renewed twice a second and worth
-- nothing after a crash, so unlogged: no renewal waits for the disk.
create unlogged table detector_lease (
  one boolean primary key default true check (one),
  -- one run of a control plane; null: none
  holder text,
  -- another may take the lease from then on
  expires_at timestamptz not null default now()
);
insert into detector_lease default values;

-- Changes that concern detection: holdings, and the settings of services and organisations. Each control plane reads
-- only the changes since its last read, by transactions as with events. Kept for an hour: a control plane that missed
-- more loads everything.
create table detection_changes (
  transaction xid8 not null default pg_current_xact_id(),
  at timestamptz not null default clock_timestamp(),
  -- of the holding; or else the settings of all holdings of the service or organisation changed
  cidr cidr,
  service_id integer,
  organisation_id bigint
);
create index detection_changes_order on detection_changes (transaction);
create index detection_changes_at on detection_changes (at);

create function holdings_inserted() returns trigger language plpgsql as $$
begin
  insert into detection_changes (cidr) select distinct cidr from new_rows;
  if found then perform pg_notify('portcullis_holdings', ''); end if;
  return null;
end
$$;
create function holdings_deleted() returns trigger language plpgsql as $$
begin
  insert into detection_changes (cidr) select distinct cidr from old_rows;
  if found then perform pg_notify('portcullis_holdings', ''); end if;
  return null;
end
$$;
create function holdings_updated() returns trigger language plpgsql as $$
begin
  insert into detection_changes (cidr)
  select distinct unnest(array[o.cidr, n.cidr]) from old_rows o join new_rows n on n.id = o.id
   where (o.cidr, o.during, o.organisation_id, o.service_id, o.detection)
         is distinct from (n.cidr, n.during, n.organisation_id, n.service_id, n.detection);
  if found then perform pg_notify('portcullis_holdings', ''); end if;
  return null;
end
$$;
create trigger holdings_detection_insert after insert on holdings
  referencing new table as new_rows for each statement execute function holdings_inserted();
create trigger holdings_detection_delete after delete on holdings
  referencing old table as old_rows for each statement execute function holdings_deleted();
create trigger holdings_detection_update after update on holdings
  referencing old table as old_rows new table as new_rows for each statement execute function holdings_updated();

create function service_settings_changed() returns trigger language plpgsql as $$
begin
  insert into detection_changes (service_id) values (new.id);
  perform pg_notify('portcullis_holdings', '');
  return null;
end
$$;
create trigger services_detection after update of detection on services for each row
  when (old.detection is distinct from new.detection) execute function service_settings_changed();

create function organisation_settings_changed() returns trigger language plpgsql as $$
begin
  insert into detection_changes (organisation_id) values (new.id);
  perform pg_notify('portcullis_holdings', '');
  return null;
end
$$;
create trigger organisations_detection after update of detection on organisations for each row
  when (old.detection is distinct from new.detection) execute function organisation_settings_changed();

-- The highest traffic of an hour outside of attacks, of addresses and prefixes with a quarter of their thresholds. Kept for eight
-- days, for suggestions of thresholds.
create table traffic_peaks (
  subject cidr not null,
  hour timestamptz not null,
  pps bigint not null,
  bps bigint not null,
  primary key (subject, hour)
);
create index traffic_peaks_hour on traffic_peaks (hour);

-- Traffic that people accepted as usual: the thresholds of an address, or of a holding, beside what is set for its scopes.
create table accepted_traffic (
  holding_id bigint not null references holdings on delete cascade,
  -- of an attack of that holder
  target cidr not null,
  -- {"pps", "mbps"}
  detection jsonb not null check (jsonb_typeof(detection) = 'object'),
  attack_id bigint not null,
  accepted_by text not null,
  accepted_at timestamptz not null default now(),
  primary key (holding_id, target)
);
create function accepted_traffic_changed() returns trigger language plpgsql as $$
begin
  insert into detection_changes (cidr) values (coalesce(new.target, old.target));
  perform pg_notify('portcullis_holdings', '');
  return null;
end
$$;
create trigger accepted_traffic_detection after insert or update or delete on accepted_traffic
  for each row execute function accepted_traffic_changed();

---------------------------------------------------------------------------------------------------------------------
-- Attacks. A row that a page of history may have shown changes only by a new version of it, so a page read later under
-- the same revision holds what it would have held then.
---------------------------------------------------------------------------------------------------------------------

-- Every change of which attacks there are, or whether they continue, takes the next revision. The transaction locks this
-- row first: recorders are serialised, and the order of commits is that of revisions.
create table attack_revision (
  one boolean primary key default true check (one),
  revision bigint not null default 0,
  -- replaced versions of rows are deleted up to this revision: an older snapshot cannot be shown any more
  pruned_revision bigint not null default 0,
  -- signs the links of history pages, which carry a revision and a window that their reader was entitled to
  snapshot_key text not null default gen_random_uuid()::text || gen_random_uuid()::text
);
insert into attack_revision default values;

create sequence attack_ids;

-- By month of its start, UTC; partitions are made ahead, and dropped when nobody may see them any longer
-- (control/attacks/partitions.ts). No references: they would lock holdings whenever a partition comes.
create table attacks (
  id bigint not null,
  revision bigint not null,
  -- the revision from which on another version, or none, replaces this one
  until_revision bigint not null default 9223372036854775807,
  superseded_at timestamptz,
  -- the holder of the subject at the start; null: nobody
  organisation_id bigint,
  holding_id bigint,
  -- an address, or the prefix that the attack is spread over
  subject cidr not null,
  -- of the holding at the start
  prefix cidr not null,
  attack_type text not null,
  peak_pps bigint not null check (peak_pps >= 0),
  peak_bps bigint not null check (peak_bps >= 0),
  started_at timestamptz not null,
  mitigated_at timestamptz,
  ended_at timestamptz check (ended_at >= started_at),
  -- EDGE/ID of an attack that an edge reported after an outage of control; null: detected by control
  reported_as text,
  primary key (id, revision, started_at),
  check (prefix >>= subject)
) partition by range (started_at);
-- A list is counted and its pages are found in this index alone.
create index attacks_listed on attacks (organisation_id, started_at desc, id desc)
  include (holding_id, subject, ended_at, revision, until_revision);
create index attacks_subject on attacks (subject, started_at desc, id desc);
-- Attacks that started long before a window and reach into it are found by their end, in this index alone: an
-- organisation may have ten thousand of them in three months.
create index attacks_long on attacks (organisation_id, coalesce(ended_at, 'infinity'::timestamptz))
  include (started_at, id, holding_id, subject, ended_at, revision, until_revision)
  where ended_at is null or ended_at - started_at > interval '1 hour';
create index attacks_superseded on attacks (superseded_at) where superseded_at is not null;

-- Attacks that may still continue: one row a subject, whatever edges, collectors and replicas see it.
create table ongoing_attacks (
  subject cidr primary key,
  attack_id bigint not null unique,
  -- its version in attacks
  revision bigint not null,
  started_at timestamptz not null,
  -- when it was first known
  opened_at timestamptz not null,
  -- null: ongoing; else it ended, and is the same attack if it continues within five minutes
  ended_at timestamptz,
  seen_at timestamptz not null,
  -- the state that another detector needs to continue with it
  detector jsonb not null,
  -- when people were asked whether it is usual traffic
  asked_at timestamptz
);

-- For the portal and the command line; kept as long as its attack.
create table attack_evidence (
  attack_id bigint not null,
  opened_at timestamptz not null,
  evidence jsonb not null,
  primary key (attack_id, opened_at)
) partition by range (opened_at);

-- Packets of an attack that its mitigations dropped, as edges report; kept as long as its record (retention.ts).
create table attack_drops (
  attack_id bigint not null,
  -- 'observed': what mitigations that only observe would have dropped
  what text not null check (what in ('dropped', 'observed')),
  packets bigint not null,
  bytes bigint not null,
  primary key (attack_id, what)
) with (fillfactor = 80);

-- The role of control reads and writes rows only. These functions run as their owner, and make and drop partitions of
-- the attack history and nothing else.
create function create_partition(parent text, month timestamptz) returns void
language plpgsql security definer set search_path = public, pg_temp set timezone = 'UTC' as $$
declare
  name text := parent || to_char(month, '_YYYY_MM');
  first timestamptz := date_trunc('month', month);
begin
  if parent not in ('attacks', 'attack_evidence') then
    raise 'no table with partitions: %', parent using errcode = 'invalid_parameter_value';
  end if;
  execute format('create table %I (like %I including all)', name, parent);
  execute format('alter table %I attach partition %I for values from (%L) to (%L)',
    parent, name, first, first + interval '1 month');
end $$;

create function drop_partition(parent text, name text) returns void
language plpgsql security definer set search_path = public, pg_temp as $$
begin
  if parent not in ('attacks', 'attack_evidence') or not exists (
    select from pg_inherits where inhparent = parent::regclass and inhrelid = to_regclass(quote_ident(name))
  ) then
    raise 'no partition of %: %', parent, name using errcode = 'invalid_parameter_value';
  end if;
  execute format('drop table %I', name);
end $$;

revoke all on function create_partition, drop_partition from public;

---------------------------------------------------------------------------------------------------------------------
-- Mitigations and responders: what is done against attacks
---------------------------------------------------------------------------------------------------------------------

-- One row an attack that something was decided about: enough to continue after a restart.
create table attack_responses (
  attack_id bigint primary key,
  -- an address, or the prefix that the attack is spread over
  target cidr not null,
  -- of the attack, for its partition
  started_at timestamptz not null,
  -- {"type", "shares", "tops"} as last reported
  facts jsonb not null,
  -- null: ongoing
  ended_at timestamptz,
  -- nothing is done after this time, whatever is reported
  expires_at timestamptz not null,
  cancelled_at timestamptz,
  cancelled_by text,
  -- the first enforcing edge had it in its kernel
  mitigated_at timestamptz,
  -- everything is withdrawn, and nothing more will be done unless the attack continues
  closed_at timestamptz
);
create index attack_responses_open on attack_responses (attack_id) where closed_at is null;

create table mitigations (
  id bigint generated always as identity primary key,
  attack_id bigint not null references attack_responses on delete cascade,
  target cidr not null,
  -- a MitigationAction (core/attacks/mitigation/actions.ts)
  action jsonb not null,
  mode text not null check (mode in ('enforce', 'observe')),
  -- networks without the length of single addresses, as policies write them
  safelist text[] not null default '{}',
  created_generation bigint not null,
  created_at timestamptz not null default now(),
  deleted_generation bigint,
  deleted_at timestamptz,
  ended_because text check (ended_because in ('over', 'expired', 'cancelled', 'settings')),
  check ((deleted_generation is null) = (deleted_at is null)),
  check ((deleted_generation is null) = (ended_because is null))
);
create unique index mitigations_identical on mitigations (attack_id, action) where deleted_generation is null;
create index mitigations_target on mitigations using gist (target inet_ops);
create index mitigations_deleted on mitigations (deleted_at) where deleted_at is not null;

-- A command or a webhook of the operator, called while an attack continues.
create table responders (
  id bigint generated always as identity primary key,
  name text not null unique check (name ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$'),
  -- a ResponderSpec (control/db/schema.ts)
  spec jsonb not null check (jsonb_typeof(spec) = 'object'),
  owner owner not null
);

-- Started for an attack, and to be withdrawn.
create table responder_runs (
  id bigint generated always as identity primary key,
  attack_id bigint not null references attack_responses on delete cascade,
  organisation_id bigint,
  responder text not null,
  -- a copy: a run is withdrawn in the way in which it was started
  spec jsonb not null,
  started_at timestamptz not null default now(),
  -- withdrawn then, whatever the attack does
  expires_at timestamptz not null,
  -- null: active
  withdrawn_at timestamptz,
  withdrawn_because text check (withdrawn_because in ('over', 'expired', 'cancelled', 'settings')),
  check ((withdrawn_at is null) = (withdrawn_because is null))
);
create unique index responder_runs_active on responder_runs (attack_id, responder) where withdrawn_at is null;
create index responder_runs_attack on responder_runs (attack_id);

-- When an organisation was last served by a responder: one with many attacks waits for those with few.
create table responder_turns (
  responder text not null,
  -- 0: of an attack on what nobody held
  organisation_id bigint not null,
  served_at timestamptz not null,
  primary key (responder, organisation_id)
);

-- The calls of a run: made at least once each, so the receiver tells them apart by their id.
create table responder_calls (
  id bigint generated always as identity primary key,
  run_id bigint not null references responder_runs on delete cascade,
  kind text not null check (kind in ('start', 'withdraw')),
  attempts integer not null default 0,
  -- not before then; during an attempt, its deadline
  due_at timestamptz not null default now(),
  -- during an attempt, when another control plane may begin the next one; null: no attempt
  claimed_until timestamptz,
  settled_at timestamptz,
  succeeded boolean,
  -- of the last attempt
  result text,
  unique (run_id, kind),
  check ((settled_at is null) = (succeeded is null))
);
create index responder_calls_due on responder_calls (due_at) where settled_at is null;
create index responder_calls_claimed on responder_calls (claimed_until) where settled_at is null and claimed_until is not null;

---------------------------------------------------------------------------------------------------------------------
-- Policies and live generations
---------------------------------------------------------------------------------------------------------------------

-- Whether packets to an address are evaluated by a policy of its own: the policy of a containing prefix is then unused.
create function has_own_policy(address inet) returns boolean stable language sql as $$
  select exists (select from addresses a join holdings h on h.id = a.holding_id
                  where a.ip = address and a.configured and h.during @> statement_timestamp())
      or exists (select from group_assignments s join holdings h on h.id = s.holding_id
                  where s.target = address and s.deleted_generation is null and h.during @> statement_timestamp())
      or exists (select from geo_assignments s join holdings h on h.id = s.holding_id
                  where s.target = address and s.deleted_generation is null and h.during @> statement_timestamp())
      or exists (select from default_actions d join holdings h on h.id = d.holding_id
                  where d.target = address and d.deleted_generation is null and h.during @> statement_timestamp())
      or exists (select from blocked_sources b join holdings h on h.id = b.holding_id
                  where b.target = address and b.deleted_generation is null and h.during @> statement_timestamp())
      or exists (select from holdings h join blocked_sources b on b.organisation_id = h.organisation_id
                  where h.cidr = address and h.during @> statement_timestamp()
                    and b.holding_id is null and b.deleted_generation is null)
      or exists (select from server_openings o join holdings h on h.id = o.holding_id
                  where o.ip = address and o.deleted_generation is null and h.during @> statement_timestamp())
      or exists (select from mitigations m where m.target = address and m.deleted_generation is null)
$$;

-- The refusals of an edge that hold an address back: of its own policy, or of the containing prefix's that evaluates it.
create function refusals_of(edge bigint, address inet) returns setof edge_refusals stable language sql as $$
  select r.* from edge_refusals r
   where r.edge_id = edge and r.target >>= address
     and (masklen(r.target) = masklen(address) or not has_own_policy(address))
$$;

-- The newest generation that every edge serving an address has in its kernel.
-- No enforcing edge enrolled: accepted is live. Enrolled, but none in service: live stays where
-- those that left last had it. A refused target stays at its last good generation on that edge.
create function live_generation(address inet) returns bigint stable language sql as $$
  with serving as (
    select e.in_service, e.left_service_at,
           least(e.confirmed_generation,
                 (select min(r.good_generation) from refusals_of(e.id, address) r)) as generation
      from edges e
     where e.enforcing_since is not null
       and exists (select from unnest(e.serves) s where s >>= address)
  )
  select coalesce(
    (select min(generation) from serving where in_service),
    (select min(generation) from serving
      where left_service_at is not distinct from (select max(left_service_at) from serving)),
    (select generation from fleet))
$$;

---------------------------------------------------------------------------------------------------------------------
-- Events, for streams and webhooks: written by the transactions that cause them, kept seven days
---------------------------------------------------------------------------------------------------------------------

create table events (
  id bigint generated always as identity primary key,
  -- Events are read in the order of transactions, and only those older than every transaction that still runs: so
  -- nothing appears behind a reader.
  transaction xid8 not null default pg_current_xact_id(),
  at timestamptz not null default clock_timestamp(),
  -- null: concerns the operator alone
  organisation_id bigint references organisations on delete cascade,
  kind text not null,
  -- an address, a prefix, a server's uuid, an attack's id, or such as group:3
  target text not null,
  data jsonb not null default '{}'
);
create index events_order on events (transaction, id);
create index events_organisation on events (organisation_id, transaction, id);
create index events_at on events (at);
-- What happened to one server.
create index events_server on events (target, at) where kind like 'server.%';

create function add_event(organisation bigint, event text, subject text, detail jsonb) returns void
language sql as $$
  insert into events (organisation_id, kind, target, data) values (organisation, event, subject, detail);
  select pg_notify('portcullis_events', '');
$$;

-- Every write that takes a generation is audited in its transaction.
create function audit_event() returns trigger language plpgsql as $$
begin
  perform add_event(new.organisation_id, 'write.accepted', new.target,
    jsonb_build_object('action', new.action, 'actor', new.actor, 'generation', new.generation));
  return null;
end
$$;
create trigger audit_events after insert on audit for each row
  when (new.generation is not null and new.organisation_id is not null) execute function audit_event();

create function live_event() returns trigger language plpgsql as $$
begin
  perform add_event(a.organisation_id, 'write.live', a.target,
      jsonb_build_object('action', a.action, 'generation', a.generation,
        'after_ms', (extract(epoch from new.live_at - new.created_at) * 1000)::bigint))
    from audit a where a.generation = new.generation and a.organisation_id is not null
     -- Edges that serve others confirm it too: it is live where an edge serves its target.
     and exists (
       select from edges e, unnest(e.serves) s
        where e.in_service
          and case when pg_input_is_valid(a.target, 'inet') then s && a.target::inet
                   else exists (select from holdings h
                                 where h.organisation_id = a.organisation_id and h.during @> now() and h.cidr && s) end);
  return null;
end
$$;
-- A fleet that gets its first edge sets live_at to created_at: nothing became live then.
create trigger generations_events after update of live_at on generations for each row
  when (old.live_at is null and new.live_at > new.created_at) execute function live_event();

create function refusal_event() returns trigger language plpgsql as $$
begin
  perform add_event(h.organisation_id, 'propagation.failed', abbrev(new.target::inet),
      jsonb_build_object('edge', e.name, 'reason', new.reason, 'generation', new.good_generation))
    from edges e, lateral (
      select organisation_id from holdings where cidr >>= new.target and during @> now()
       order by masklen(cidr) desc limit 1) h
   where e.id = new.edge_id;
  return null;
end
$$;
create trigger edge_refusals_events after insert on edge_refusals for each row execute function refusal_event();

create function edge_event() returns trigger language plpgsql as $$
begin
  perform add_event(null, case when new.in_service then 'agent.joined' else 'agent.lost' end, 'edge:' || new.name,
    jsonb_build_object('mode', new.mode));
  return null;
end
$$;
create trigger edges_events after update of in_service on edges for each row
  when (old.in_service <> new.in_service) execute function edge_event();

-- An attack changes by another version of its row, or where nobody can have read it, in place.
create function attack_event() returns trigger language plpgsql as $$
declare
  earlier attacks;
  detail jsonb;
begin
  if tg_op = 'UPDATE' then
    earlier := old;
  else
    select * into earlier from attacks a where a.id = new.id and a.revision < new.revision
     order by a.revision desc limit 1;
  end if;
  detail := jsonb_build_object('attack', new.id, 'attack_type', new.attack_type, 'peak_bps', new.peak_bps,
    'peak_pps', new.peak_pps, 'started_at', to_char(new.started_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"+00:00"'));
  if earlier.id is null then
    perform add_event(new.organisation_id, 'attack.opened', abbrev(new.subject::inet), detail);
  end if;
  if new.mitigated_at is not null and earlier.mitigated_at is null then
    perform add_event(new.organisation_id, 'attack.mitigated', abbrev(new.subject::inet), detail);
  end if;
  if new.ended_at is not null and earlier.ended_at is null then
    perform add_event(new.organisation_id, 'attack.ended', abbrev(new.subject::inet), detail);
  end if;
  return null;
end
$$;
create trigger attacks_opened after insert on attacks for each row
  when (new.organisation_id is not null and new.until_revision = 9223372036854775807)
  execute function attack_event();
create trigger attacks_changed after update on attacks for each row
  when (new.organisation_id is not null and new.until_revision = 9223372036854775807
        and (new.mitigated_at is distinct from old.mitigated_at or new.ended_at is distinct from old.ended_at))
  execute function attack_event();

create function server_event() returns trigger language plpgsql as $$
begin
  if new.power_state is distinct from old.power_state and old.power_state is not null then
    perform add_event(new.organisation_id, 'server.state', new.uuid::text,
      jsonb_build_object('name', new.name, 'from', old.power_state, 'state', new.power_state));
  end if;
  if new.crashed_at_ms > coalesce(old.crashed_at_ms, 0) and old.power_state is not null then
    perform add_event(new.organisation_id, 'server.crashed', new.uuid::text,
      jsonb_build_object('name', new.name, 'state', new.power_state));
  end if;
  if new.build_state <> old.build_state then
    perform add_event(new.organisation_id, 'server.build', new.uuid::text,
      jsonb_build_object('name', new.name, 'state', new.build_state));
  end if;
  return null;
end
$$;
-- That a state is not known any more is no change of it.
create trigger game_servers_events after update of power_state, crashed_at_ms, build_state on game_servers
  for each row when (new.power_state is not null or old.power_state is null) execute function server_event();

-- A node that reports for the first time or again, and one that was lost, as with edges.
create function node_event() returns trigger language plpgsql as $$
begin
  perform add_event(null, case when new.lost_at is null then 'agent.joined' else 'agent.lost' end,
    'node:' || new.name, '{}');
  return null;
end
$$;
create trigger nodes_lost after update of lost_at on nodes for each row
  when ((old.lost_at is null) <> (new.lost_at is null)) execute function node_event();
create trigger nodes_joined after update of engine on nodes for each row
  when (old.engine is null and new.engine is not null and old.lost_at is null and new.lost_at is null)
  execute function node_event();

---------------------------------------------------------------------------------------------------------------------
-- Webhooks of organisations, and their deliveries
---------------------------------------------------------------------------------------------------------------------

create table webhooks (
  id bigint generated always as identity primary key,
  organisation_id bigint not null references organisations on delete cascade,
  name text not null,
  url text not null,
  kinds text[] not null,
  -- the key of signatures; an HMAC needs it as it is
  secret bytea not null,
  previous_secret bytea,
  previous_until timestamptz,
  disabled_at timestamptz,
  disabled_reason text,
  created_at timestamptz not null default now(),
  check ((disabled_at is null) = (disabled_reason is null)),
  check ((previous_secret is null) = (previous_until is null))
);
create index webhooks_organisation on webhooks (organisation_id);

-- Kept as long as their events.
create table webhook_deliveries (
  id bigint generated always as identity primary key,
  webhook_id bigint not null references webhooks on delete cascade,
  event_id bigint not null references events on delete cascade,
  state text not null default 'pending' check (state in ('pending', 'delivered', 'failed', 'skipped')),
  -- counted when an attempt begins
  attempts integer not null default 0,
  -- not before then; during an attempt, when another process may begin the next one
  due_at timestamptz not null default now(),
  created_at timestamptz not null default now(),
  settled_at timestamptz,
  -- attempts with their results, in the names of the interface
  log jsonb not null default '[]',
  check ((state = 'pending') = (settled_at is null))
);
create index webhook_deliveries_due on webhook_deliveries (due_at) where state = 'pending';
create index webhook_deliveries_pending on webhook_deliveries (webhook_id) where state = 'pending';
create index webhook_deliveries_webhook on webhook_deliveries (webhook_id, id);
create index webhook_deliveries_event on webhook_deliveries (event_id);

-- Whether a webhook has a thousand pending deliveries: no more are added.
create function webhook_is_full(webhook bigint) returns boolean language sql stable as $$
  select count(*) >= 1000 from (
    select from webhook_deliveries where webhook_id = webhook and state = 'pending' limit 1000) pending
$$;

-- In the transaction of the event, so that no delivery is lost. A webhook that is being deleted is left out; waiting for
-- it would hold back what caused the event.
create function webhook_event() returns trigger language plpgsql as $$
begin
  insert into webhook_deliveries (webhook_id, event_id, state, settled_at)
  select w.id, new.id, case when f.is_full then 'skipped' else 'pending' end, case when f.is_full then now() end
    from (select id from webhooks
           where organisation_id = new.organisation_id and disabled_at is null and new.kind = any (kinds)
             for key share skip locked) w,
         lateral (select webhook_is_full(w.id) as is_full) f;
  if found then
    perform pg_notify('portcullis_webhooks', '');
  end if;
  return null;
end
$$;
create trigger events_webhooks after insert on events for each row
  when (new.organisation_id is not null and new.kind not like 'write.%') execute function webhook_event();

---------------------------------------------------------------------------------------------------------------------
-- Operation
---------------------------------------------------------------------------------------------------------------------

-- The fleet files that were applied, so that the one before the last can be applied again (`fleet undo`).
create table fleet_applies (
  id bigint generated always as identity primary key,
  at timestamptz not null default now(),
  path text not null,
  -- the parsed file without secrets of keys, as written by control/fleet-file/apply/applied-files.ts
  content bytea not null
);

-- Readiness tries an insert here, which it rolls back: a full disk or a read-only server refuses it.
create unlogged table write_probe (filler bytea not null);
