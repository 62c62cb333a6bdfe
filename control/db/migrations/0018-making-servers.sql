-- Servers that owners of an organisation make by themselves: how many, and what these have together. None by default.
alter table organisations
  add column own_servers integer not null default 0 check (own_servers >= 0),
  -- MiB
  add column own_servers_memory integer not null default 0 check (own_servers_memory >= 0),
  -- percent of one core
  add column own_servers_cpu integer not null default 0 check (own_servers_cpu >= 0),
  -- MiB
  add column own_servers_disk integer not null default 0 check (own_servers_disk >= 0);

-- The organisation whose owners made the server; null: an operator did. It counts while it is that organisation's.
alter table game_servers add column made_by bigint references organisations;
create index game_servers_made_by on game_servers (made_by) where made_by is not null;

-- The organisation whose owners made and deleted it; its newest ones alone are kept, so that making fills no disk.
alter table deleted_servers add column made_by bigint references organisations;
create index deleted_servers_made_by on deleted_servers (made_by) where made_by is not null;

-- Eggs that operators added to those that are shipped.
create table library_eggs (
  id bigint generated always as identity primary key,
  -- what `egg` of a server takes
  name text not null unique check (name ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$'),
  -- JSON as its file has it; text, because the order of its members counts
  document text not null check (char_length(document) <= 2000000),
  -- the URL that it came from
  source text,
  -- owners of organisations may choose it
  offered boolean not null default true,
  owner owner not null,
  created_at timestamptz not null default now()
);
