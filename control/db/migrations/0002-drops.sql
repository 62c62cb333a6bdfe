-- What edges dropped: counts by minute, and samples. Kept for a day (retention.ts), written as edges report.

-- Belongs to the holding that had the address for all of that time: a new holder sees nothing of before.
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
