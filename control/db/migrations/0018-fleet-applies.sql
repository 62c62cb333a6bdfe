-- A key that left the fleet file: refused until the file names it again.
alter table api_keys add column suspended_at timestamptz;

-- What was applied, so that the apply before the last can be applied again (`fleet undo`).
create table fleet_applies (
  id bigint generated always as identity primary key,
  at timestamptz not null default now(),
  path text not null,
  -- the parsed file without secrets of keys, as written by control/fleet-file/apply/applied-files.ts
  content bytea not null
);
