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

-- What happened to one server.
create index events_server on events (target, at) where kind like 'server.%';
