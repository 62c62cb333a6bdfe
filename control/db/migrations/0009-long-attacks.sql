-- Attacks that last are found by their end, those that go on with them, in the index alone: of an organisation that had
-- ten thousand of them in three months, a day's list looked at each.
drop index attacks_long;
create index attacks_long on attacks (organisation_id, coalesce(ended_at, 'infinity'::timestamptz))
  include (started_at, id, holding_id, subject, ended_at, revision, until_revision)
  where ended_at is null or ended_at - started_at > interval '1 hour';
