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
