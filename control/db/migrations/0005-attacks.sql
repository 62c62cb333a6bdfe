-- Attacks that were seen. What pages of history are made of is never changed but by a new version of a row, so a
-- page read later under the same revision holds what it would have held then.

-- Every change of which attacks there are, or whether they go on, takes the next revision. Its row is locked first in
-- a transaction that does so: recorders take turns, and the order of commits is that of revisions.
create table attack_clock (
  one boolean primary key default true check (one),
  revision bigint not null default 0,
  -- older versions of rows are gone up to here: an older snapshot can no longer be told
  forgotten bigint not null default 0
);
insert into attack_clock default values;

create sequence attack_ids;

-- By month of its start, UTC; partitions are made ahead, and dropped when nobody may see them any longer
-- (control/attacks/partitions.ts). No references: they would lock holdings whenever a partition comes.
create table attacks (
  id bigint not null,
  revision bigint not null,
  -- the revision from which on another version, or none, is in its place
  until_revision bigint not null default 9223372036854775807,
  superseded_at timestamptz,
  -- who had the subject when it began; null: nobody
  organisation_id bigint,
  holding_id bigint,
  -- an address, or the prefix that it is spread over
  subject cidr not null,
  -- of the holding, as it was then
  prefix cidr not null,
  attack_type text not null,
  peak_pps bigint not null check (peak_pps >= 0),
  peak_bps bigint not null check (peak_bps >= 0),
  started_at timestamptz not null,
  mitigated_at timestamptz,
  ended_at timestamptz check (ended_at >= started_at),
  primary key (id, revision, started_at),
  check (prefix >>= subject)
) partition by range (started_at);
-- A list is counted and its pages are found in this alone.
create index attacks_listed on attacks (organisation_id, started_at desc, id desc)
  include (holding_id, subject, ended_at, revision, until_revision);
create index attacks_subject on attacks (subject, started_at desc, id desc);
-- What began long before a window and reaches into it.
create index attacks_long on attacks (organisation_id, started_at desc, id desc)
  where ended_at is null or ended_at - started_at > interval '1 hour';
create index attacks_superseded on attacks (superseded_at) where superseded_at is not null;

-- What may still go on: one row a subject, whatever edges, collectors and replicas see it.
create table ongoing_attacks (
  subject cidr primary key,
  attack_id bigint not null unique,
  -- its version in attacks
  revision bigint not null,
  started_at timestamptz not null,
  -- when it was first known
  opened_at timestamptz not null,
  -- null: it goes on; else it ended, and is the same attack when it goes on within five minutes
  ended_at timestamptz,
  -- the last of it that was seen
  seen_at timestamptz not null,
  -- what another detector needs to go on with it
  detector jsonb not null
);

-- Who sees it: an attack has ended when the last one says so, or is not heard any longer.
create table attack_sightings (
  subject cidr not null references ongoing_attacks on delete cascade,
  -- one run of a control plane
  recorder text not null,
  seen_at timestamptz not null,
  primary key (subject, recorder)
);

-- For the portal and the command line; kept as long as its attack.
create table attack_evidence (
  attack_id bigint not null,
  opened_at timestamptz not null,
  evidence jsonb not null,
  primary key (attack_id, opened_at)
) partition by range (opened_at);
