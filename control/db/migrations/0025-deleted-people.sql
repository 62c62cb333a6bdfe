-- Deleted servers keep who made them, their people and their activity for a restore, besides their files.

-- The organisation of `made_by` deleted it itself: its newest ones alone are kept. One that an operator deleted is kept
-- for its whole time.
alter table deleted_servers add column by_maker boolean not null default false;
update deleted_servers set by_maker = true where made_by is not null;

create table deleted_server_people (
  uuid uuid not null,
  node_id bigint not null,
  person_id bigint not null references people on delete cascade,
  rights text[] not null check (cardinality(rights) between 1 and 64),
  since timestamptz not null,
  primary key (uuid, node_id, person_id),
  foreign key (uuid, node_id) references deleted_servers on delete cascade
);
create index deleted_server_people_person on deleted_server_people (person_id);

-- An entry is of a server, or of a deleted one until its files are purged.
alter table server_activity
  alter column server drop not null,
  add column deleted_uuid uuid,
  add column deleted_node bigint,
  add foreign key (deleted_uuid, deleted_node) references deleted_servers on delete cascade,
  add check (num_nonnulls(server, deleted_uuid) = 1),
  add check ((deleted_uuid is null) = (deleted_node is null));
create index server_activity_deleted on server_activity (deleted_uuid, deleted_node) where deleted_uuid is not null;
