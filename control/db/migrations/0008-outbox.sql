-- Deliveries of webhooks and calls of responders have the same columns for what both outboxes do. The number of attempts
-- only grows from here on, because it fences results: what a stop aborts is counted beside it. The version before
-- goes on with attempts and due_at.
alter table webhook_deliveries
  add released integer not null default 0,
  -- during an attempt, when another process may begin the next one; null: no attempt
  add claimed_until timestamptz;
alter table responder_calls add released integer not null default 0;
create index webhook_deliveries_claimed on webhook_deliveries (claimed_until)
  where state = 'pending' and claimed_until is not null;
