-- What is an attack and what is done against it, by scope; and who tells of traffic beside the edges.

-- {"pps", "mbps", "holdSeconds", "mitigation", "safelist"}; what is missing or null, the scope around it decides
alter table organisations add detection jsonb not null default '{}' check (jsonb_typeof(detection) = 'object');
alter table services add detection jsonb not null default '{}' check (jsonb_typeof(detection) = 'object');
alter table holdings add detection jsonb not null default '{}' check (jsonb_typeof(detection) = 'object');

create table collectors (
  id bigint generated always as identity primary key,
  name text not null unique check (name ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$'),
  -- ADDRESS:PORT
  listen text not null,
  -- [{"ip", "samplingRate": packets or null}]
  exporters jsonb not null check (jsonb_typeof(exporters) = 'array'),
  -- what an edge of this site counts is the same traffic; null: the first edge's
  site text,
  owner owner not null
);
