-- Whoever's attack it is: responders are there for all organisations alike.
alter table responder_runs add organisation_id bigint;
update responder_runs r set organisation_id = (
  select organisation_id from attacks a where a.id = r.attack_id order by revision desc limit 1);

-- Who was served when, so that it is everybody's turn: whoever's attacks are many waits for those with few.
create table responder_turns (
  responder text not null,
  -- 0: of an attack on what nobody held
  organisation_id bigint not null,
  served_at timestamptz not null,
  primary key (responder, organisation_id)
);
