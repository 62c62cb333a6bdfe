-- A limit of a mitigation is of packets that nobody answered: `unansweredOnly`. Replicas of the version before read and
-- write the same action with the word that they know, in `action`, which goes one version later.

create function countermeasure_of(action jsonb) returns jsonb immutable parallel safe language sql as $$
  select case when action #> '{limit,strangersOnly}' is null then action
    else jsonb_set(action #- '{limit,strangersOnly}', '{limit,unansweredOnly}', action #> '{limit,strangersOnly}') end
$$;

create function action_of(countermeasure jsonb) returns jsonb immutable parallel safe language sql as $$
  select case when countermeasure #> '{limit,unansweredOnly}' is null then countermeasure
    else jsonb_set(countermeasure #- '{limit,unansweredOnly}', '{limit,strangersOnly}',
                   countermeasure #> '{limit,unansweredOnly}') end
$$;

-- a MitigationAction (core/attacks/mitigation/actions.ts)
alter table mitigations add column countermeasure jsonb;
update mitigations set countermeasure = countermeasure_of(action);
alter table mitigations alter column countermeasure set not null;

-- Each version writes its own column.
create function name_mitigation() returns trigger language plpgsql as $$
begin
  if new.countermeasure is null then
    new.countermeasure := countermeasure_of(new.action);
  elsif new.action is null then
    new.action := action_of(new.countermeasure);
  end if;
  return new;
end
$$;
create trigger name_mitigation before insert on mitigations for each row execute function name_mitigation();
