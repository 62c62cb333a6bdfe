-- An edge presents a credential when it connects, like a node and a collector.
alter table edges add credential_hash bytea, add enrolled_at timestamptz;

create trigger edges_enrolment after delete or update of credential_hash, name
  on edges for each row execute function tell_enrolment();
