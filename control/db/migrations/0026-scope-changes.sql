-- What changed for detection: holdings, and the settings of services and organisations. Each control plane reads only
-- the changes since it last did, by transactions as with events. Kept for an hour: who missed more loads everything.
create table scope_changes (
  transaction xid8 not null default pg_current_xact_id(),
  at timestamptz not null default clock_timestamp(),
  -- of the holding; or else the settings of all holdings of the service or organisation changed
  cidr cidr,
  service_id integer,
  organisation_id bigint
);
create index scope_changes_order on scope_changes (transaction);
create index scope_changes_at on scope_changes (at);

create function holdings_inserted() returns trigger language plpgsql as $$
begin
  insert into scope_changes (cidr) select distinct cidr from born;
  if found then perform pg_notify('portcullis_holdings', ''); end if;
  return null;
end
$$;
create function holdings_deleted() returns trigger language plpgsql as $$
begin
  insert into scope_changes (cidr) select distinct cidr from gone;
  if found then perform pg_notify('portcullis_holdings', ''); end if;
  return null;
end
$$;
create function holdings_updated() returns trigger language plpgsql as $$
begin
  insert into scope_changes (cidr)
  select distinct unnest(array[o.cidr, n.cidr]) from gone o join born n on n.id = o.id
   where (o.cidr, o.during, o.organisation_id, o.service_id, o.detection)
         is distinct from (n.cidr, n.during, n.organisation_id, n.service_id, n.detection);
  if found then perform pg_notify('portcullis_holdings', ''); end if;
  return null;
end
$$;
create trigger holdings_insert_scopes after insert on holdings
  referencing new table as born for each statement execute function holdings_inserted();
create trigger holdings_delete_scopes after delete on holdings
  referencing old table as gone for each statement execute function holdings_deleted();
create trigger holdings_update_scopes after update on holdings
  referencing old table as gone new table as born for each statement execute function holdings_updated();

create function service_settings_changed() returns trigger language plpgsql as $$
begin
  insert into scope_changes (service_id) values (new.id);
  perform pg_notify('portcullis_holdings', '');
  return null;
end
$$;
create trigger services_scopes after update of detection on services for each row
  when (old.detection is distinct from new.detection) execute function service_settings_changed();

create function organisation_settings_changed() returns trigger language plpgsql as $$
begin
  insert into scope_changes (organisation_id) values (new.id);
  perform pg_notify('portcullis_holdings', '');
  return null;
end
$$;
create trigger organisations_scopes after update of detection on organisations for each row
  when (old.detection is distinct from new.detection) execute function organisation_settings_changed();
