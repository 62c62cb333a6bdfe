-- People with rights to one game server, and what was done with it.

-- A person of the organisation needs no row: its role gives it rights to each server.
create table server_people (
  server uuid not null references game_servers on delete cascade,
  person_id bigint not null references people on delete cascade,
  -- as Pterodactyl names them: control.start, file.read-content
  rights text[] not null check (cardinality(rights) between 1 and 64),
  since timestamptz not null default now(),
  primary key (server, person_id)
);
create index server_people_person on server_people (person_id);
-- Ends open streams, consoles and SFTP sessions of people who lost a right.
create trigger server_people_access after delete or update on server_people
  for each row execute function access_changed();

-- An invitation to one server instead of to an organisation.
alter table portal_links
  add column server uuid references game_servers on delete cascade,
  add column rights text[],
  -- the key that made it; it counts only while the key is good
  add column maker_key bigint references api_keys on delete cascade,
  add check ((server is null) = (rights is null)),
  add check (server is null or (kind = 'invitation' and organisation_id is null));
create index portal_links_server on portal_links (server) where server is not null;

-- What was done with a server, by whom and through which door. A sweep keeps the newest 5,000 of a server, 90 days at
-- most, so that no one fills the disk by doing things often.
create table server_activity (
  id bigint generated always as identity primary key,
  server uuid not null references game_servers on delete cascade,
  at timestamptz not null default now(),
  actor_kind text not null,
  actor text not null,
  -- api, portal, sftp, node
  door text not null,
  source inet,
  -- power, command, files.write, people.invite
  action text not null,
  detail jsonb not null default '{}' check (pg_column_size(detail) <= 4096),
  -- how often the same was done by the same within a minute
  times integer not null default 1
);
create index server_activity_server on server_activity (server, id desc);
create index server_activity_at on server_activity (at);
