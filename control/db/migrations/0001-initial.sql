-- Who may do what, over which addresses, and when.

create type owner as enum ('fleet', 'portal');

create table organisations (
  id bigint generated always as identity primary key,
  slug text not null unique check (slug ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
  name text not null,
  flags text[] not null default '{}',
  rules_per_ip integer not null default 100 check (rules_per_ip between 0 and 100000),
  filters_per_ip integer not null default 25 check (filters_per_ip between 0 and 100000),
  max_ports_per_request integer not null default 101 check (max_ports_per_request between 1 and 65535),
  attack_history_days integer not null default 90 check (attack_history_days between 1 and 36500),
  configured_addresses integer not null default 10000 check (configured_addresses >= 0),
  requests_per_minute integer not null default 600 check (requests_per_minute >= 1),
  owner owner not null,
  created_at timestamptz not null default now()
);

create table asns (
  asn bigint primary key check (asn between 1 and 4294967295),
  organisation_id bigint not null references organisations,
  owner owner not null
);

create table services (
  id integer primary key,
  organisation_id bigint not null references organisations,
  name text not null,
  active boolean not null default true,
  -- [{"type": slug, "ports": port expression or null}]; null ports: those of its game servers
  managed_filters jsonb not null default '[{"type": "tcp-syn-proxy", "ports": null}, {"type": "udp-stateful", "ports": null}]',
  owner owner not null
);

-- A prefix announced under an ASN of the organisation, or an address assigned to a service of it, for a time.
-- The most specific holding has the address; equal ones may not overlap in time.
create table holdings (
  id bigint generated always as identity primary key,
  organisation_id bigint not null references organisations,
  cidr cidr not null,
  during tstzrange not null check (not isempty(during) and lower(during) is not null),
  asn bigint references asns,
  service_id integer references services,
  owner owner not null,
  check ((asn is null) <> (service_id is null)),
  check (service_id is null or masklen(cidr) = case family(cidr) when 4 then 32 else 128 end),
  constraint holdings_one_holder exclude using gist (cidr inet_ops with =, during with &&)
);
create index holdings_cidr on holdings using gist (cidr inet_ops);
create index holdings_organisation on holdings (organisation_id);
create index holdings_begin on holdings (lower(during));
create index holdings_end on holdings (upper(during)) where upper(during) is not null;

create table api_keys (
  id bigint generated always as identity primary key,
  organisation_id bigint not null references organisations,
  name text not null,
  -- SHA-256 of the whole key; the plaintext is shown once and stored nowhere
  secret_hash bytea not null unique check (length(secret_hash) = 32),
  -- the first characters after the fixed prefix, to recognise a key by
  hint text not null,
  abilities text[] not null,
  -- null: every server of the organisation
  servers uuid[],
  -- null: everything the organisation holds
  prefixes cidr[],
  -- null: callable from anywhere
  sources cidr[],
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz,
  created_at timestamptz not null default now(),
  owner owner not null
);
create index api_keys_organisation on api_keys (organisation_id);
-- Names are how the fleet file finds its keys again.
create unique index api_keys_fleet_name on api_keys (organisation_id, name) where owner = 'fleet';

-- The fleet's one generation. Its row lock makes commit order and generation order the same: take it last.
create table fleet (
  one boolean primary key default true check (one),
  generation bigint not null default 0,
  -- holdings that began or ended up to here are in a generation
  holdings_until timestamptz not null default '-infinity'
);
insert into fleet default values;

create table generations (
  generation bigint primary key,
  created_at timestamptz not null default clock_timestamp(),
  cause text not null,
  -- when the last edge in service had it; null: not yet, or nothing enforces
  live_at timestamptz
);
create index generations_pending on generations (generation) where live_at is null;

-- What an edge must fetch again: every target that a generation may have changed.
-- A prefix stands for itself and for everything inside it.
create table changes (
  generation bigint not null references generations on delete cascade,
  target cidr not null,
  primary key (generation, target)
);

-- Firewall. Objects belong to a holding: a new holder starts empty.

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
  note text,
  tags text[] not null default '{}',
  created_generation bigint not null,
  created_at timestamptz not null default now(),
  deleted_generation bigint,
  deleted_at timestamptz,
  check (port is null or protocol in ('tcp', 'udp')),
  check ((deleted_generation is null) = (deleted_at is null))
);
create unique index rules_identical on rules (address_id, action, protocol, source, port)
  nulls not distinct where deleted_generation is null;
-- What stands as of a generation, without walking through everything that was ever deleted.
create index rules_standing on rules (address_id, coalesce(deleted_generation, 9223372036854775807));
create index rules_deleted on rules (deleted_at) where deleted_at is not null;

create table filters (
  id bigint generated always as identity primary key,
  address_id bigint not null references addresses,
  type text not null,
  port integer not null check (port between 1 and 65535),
  created_generation bigint not null,
  created_at timestamptz not null default now(),
  deleted_generation bigint,
  deleted_at timestamptz,
  check ((deleted_generation is null) = (deleted_at is null))
);
create unique index filters_identical on filters (address_id, type, port) where deleted_generation is null;
create index filters_standing on filters (address_id, coalesce(deleted_generation, 9223372036854775807));
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
  created_generation bigint not null,
  created_at timestamptz not null default now(),
  deleted_generation bigint,
  deleted_at timestamptz,
  check (port is null or protocol in ('tcp', 'udp'))
);
create unique index group_rules_identical on group_rules (group_id, action, protocol, source, port)
  nulls not distinct where deleted_generation is null;
create index group_rules_group on group_rules (group_id);

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

-- Edges: what the operator named, and what was heard of them.

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
  -- first time an agent of this name enforced; null: it never did, and never counts
  enforcing_since timestamptz,
  instance text,
  mode text check (mode in ('enforce', 'observe')),
  mode_reason text,
  last_seen_at timestamptz,
  -- newest generation that its kernel has (but for what it refused)
  confirmed_generation bigint not null default 0,
  -- what it must confirm after (re)joining before it counts
  joins_at_generation bigint not null default 0,
  in_service boolean not null default false,
  left_service_at timestamptz,
  report jsonb
);

create table edge_refusals (
  edge_id bigint not null references edges on delete cascade,
  target cidr not null,
  reason text not null,
  good_generation bigint not null,
  primary key (edge_id, target)
);

-- Whether packets to an address are judged by a policy of its own: that of a prefix around it then says nothing.
create function has_own_policy(address inet) returns boolean stable language sql as $$
  select exists (select from addresses a join holdings h on h.id = a.holding_id
                  where a.ip = address and a.configured and h.during @> statement_timestamp())
      or exists (select from group_assignments s join holdings h on h.id = s.holding_id
                  where s.target = address and s.deleted_generation is null and h.during @> statement_timestamp())
      or exists (select from geo_assignments s join holdings h on h.id = s.holding_id
                  where s.target = address and s.deleted_generation is null and h.during @> statement_timestamp())
$$;

-- What an edge refused that holds an address back: its own policy, or that of a prefix which judges it.
create function refusals_of(edge bigint, address inet) returns setof edge_refusals stable language sql as $$
  select r.* from edge_refusals r
   where r.edge_id = edge and r.target >>= address
     and (masklen(r.target) = masklen(address) or not has_own_policy(address))
$$;

-- The newest generation that every edge serving an address has in its kernel.
-- No enforcing edge enrolled: accepted is live. Enrolled, but none in service: live stands where
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

-- What was done, by whom, from where. Written in the transaction that does it.
create table audit (
  id bigint generated always as identity primary key,
  at timestamptz not null default clock_timestamp(),
  organisation_id bigint references organisations,
  -- 'key', 'operator' (the command line), 'fleet' (the file), 'system'
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

create table idempotency_keys (
  organisation_id bigint not null references organisations,
  api_key_id bigint not null references api_keys,
  method text not null,
  path text not null,
  idempotency_key text not null,
  body_hash bytea not null,
  status integer not null,
  headers jsonb not null,
  body text not null,
  created_at timestamptz not null default now(),
  primary key (organisation_id, api_key_id, method, path, idempotency_key)
);
create index idempotency_keys_created on idempotency_keys (created_at);
