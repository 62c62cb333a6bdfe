-- Webhooks of organisations, and what they deliver.
create table webhooks (
  id bigint generated always as identity primary key,
  organisation_id bigint not null references organisations on delete cascade,
  name text not null,
  url text not null,
  kinds text[] not null,
  -- the key of signatures; an HMAC needs it as it is
  secret bytea not null,
  previous_secret bytea,
  previous_until timestamptz,
  disabled_at timestamptz,
  disabled_reason text,
  created_at timestamptz not null default now(),
  check ((disabled_at is null) = (disabled_reason is null)),
  check ((previous_secret is null) = (previous_until is null))
);
create index webhooks_organisation on webhooks (organisation_id);

-- Kept as long as their events.
create table webhook_deliveries (
  id bigint generated always as identity primary key,
  webhook_id bigint not null references webhooks on delete cascade,
  event_id bigint not null references events on delete cascade,
  state text not null default 'pending' check (state in ('pending', 'delivered', 'failed', 'skipped')),
  -- counted when an attempt begins
  attempts integer not null default 0,
  -- not before then; during an attempt, when another process may begin the next one
  due_at timestamptz not null default now(),
  created_at timestamptz not null default now(),
  settled_at timestamptz,
  -- attempts with their results, in the names of the interface
  log jsonb not null default '[]',
  check ((state = 'pending') = (settled_at is null))
);
create index webhook_deliveries_due on webhook_deliveries (due_at) where state = 'pending';
create index webhook_deliveries_pending on webhook_deliveries (webhook_id) where state = 'pending';
create index webhook_deliveries_webhook on webhook_deliveries (webhook_id, id);
create index webhook_deliveries_event on webhook_deliveries (event_id);

-- Whether a webhook has so many pending deliveries that more are not tried.
create function webhook_is_full(webhook bigint) returns boolean language sql stable as $$
  select count(*) >= 1000 from (
    select from webhook_deliveries where webhook_id = webhook and state = 'pending' limit 1000) pending
$$;

-- In the transaction of the event, so that no delivery is lost. A webhook that is being deleted is left out; waiting for
-- it would hold back what caused the event.
create function webhook_event() returns trigger language plpgsql as $$
begin
  insert into webhook_deliveries (webhook_id, event_id, state, settled_at)
  select w.id, new.id, case when f.is_full then 'skipped' else 'pending' end, case when f.is_full then now() end
    from (select id from webhooks
           where organisation_id = new.organisation_id and disabled_at is null and new.kind = any (kinds)
             for key share skip locked) w,
         lateral (select webhook_is_full(w.id) as is_full) f;
  if found then
    perform pg_notify('portcullis_webhooks', '');
  end if;
  return null;
end
$$;
create trigger events_webhooks after insert on events for each row
  when (new.organisation_id is not null and new.kind not like 'write.%') execute function webhook_event();
