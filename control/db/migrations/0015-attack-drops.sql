-- What was dropped of an attack by what is done against it, as edges tell; kept as long as its record (retention.ts).
create table attack_drops (
  attack_id bigint not null,
  -- by mitigations; or what those that only observe would have dropped
  what text not null check (what in ('dropped', 'observed')),
  packets bigint not null,
  bytes bigint not null,
  primary key (attack_id, what)
) with (fillfactor = 80);
