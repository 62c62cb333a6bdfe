-- Game servers and the nodes that run them.

create table nodes (
  id bigint generated always as identity primary key,
  name text not null unique check (name ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$'),
  owner owner not null,
  -- SHA-256 of what the node presents; null: it was not enrolled yet, and is not let in
  credential_hash bytea check (length(credential_hash) = 32),
  enrolled_at timestamptz,
  -- who may speak for the node: whoever said hello last
  instance text,
  last_seen_at timestamptz,
  -- {"kind", "version", "problem"} of its last heartbeat
  engine jsonb,
  check ((credential_hash is null) = (enrolled_at is null))
);

-- Once each, by the SHA-256 of its canonical JSON; what no server names any more is swept.
create table eggs (
  digest text primary key check (digest ~ '^[0-9a-f]{64}$'),
  egg jsonb not null
);

-- A server belongs to a service of its own organisation: the pair is what it refers to.
alter table services add constraint services_organisation unique (id, organisation_id);

create table game_servers (
  uuid uuid primary key,
  organisation_id bigint not null references organisations,
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
  suspended boolean not null default false,
  crash_restart boolean not null default true,
  crash_within_ms integer not null default 60000 check (crash_within_ms between 0 and 86400000),
  -- raised to install anew; what a node says of another epoch is of another build
  build_epoch integer not null default 1 check (build_epoch >= 1),
  build_state text not null default 'waiting' check (build_state in ('waiting', 'building', 'built', 'failed')),
  build_reason text,
  build_log text,
  provisioned boolean not null generated always as (build_state = 'built') stored,
  -- short, for people; there while it is provisioned
  identifier text,
  owner owner not null,
  created_at timestamptz not null default now(),
  foreign key (service_id, organisation_id) references services (id, organisation_id),
  check ((identifier is not null) = (build_state = 'built')),
  -- Deferred, so that two servers can change places in one transaction.
  constraint game_servers_allocation unique (ip, port) deferrable initially deferred
);
create index game_servers_organisation on game_servers (organisation_id, name, uuid);
create index game_servers_node on game_servers (node_id);
create index game_servers_service on game_servers (service_id);
create index game_servers_egg on game_servers (egg_digest);

-- A key sees `servers`, and may instruct those of them that are here too; null: all that it sees.
alter table api_keys add column managed_servers uuid[];

-- Nodes are told that what they should have changed, whoever changed it; not of what they said themselves.
create function tell_node() returns trigger language plpgsql as $$
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
create trigger game_servers_told after insert or delete or update of
    organisation_id, node_id, name, egg_digest, image, variables, memory_mib, cpu_percent, disk_mib, ip, port,
    suspended, crash_restart, crash_within_ms, build_epoch
  on game_servers for each row execute function tell_node();

-- A node whose credential was replaced or taken away is asked for it again.
create function tell_enrolment() returns trigger language plpgsql as $$
begin
  perform pg_notify('portcullis_enrolment', old.name);
  return null;
end
$$;
create trigger nodes_enrolment after delete or update of credential_hash, name
  on nodes for each row execute function tell_enrolment();
