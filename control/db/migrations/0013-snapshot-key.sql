-- Links of the history carry which state of it and which window they show: only we may say so, since a window keeps what
-- was within its reader's reach when he began. All control planes sign with it.
alter table attack_clock
  add column snapshot_key text not null default gen_random_uuid()::text || gen_random_uuid()::text;
