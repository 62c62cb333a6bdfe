-- Of all control planes one judges what agents count, so that what is counted at several adds up.
create table attack_judge (
  one boolean primary key default true check (one),
  -- one run of a control plane; null: none
  judge text,
  -- another may judge from then on
  until timestamptz not null default now()
);
insert into attack_judge default values;

-- What agents told the others, on its way to the judge. Measurements, not facts to keep: none survives a crash.
create unlogged table watch_relay (
  id bigint generated always as identity primary key,
  kind text not null check (kind in ('edge', 'collector')),
  name text not null,
  -- a WatchSamples (link/watch-messages.ts)
  message text not null,
  told_at timestamptz not null default clock_timestamp()
);
