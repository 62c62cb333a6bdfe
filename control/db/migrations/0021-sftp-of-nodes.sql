-- SFTP of nodes: where people reach it, and what they did by it.
alter table nodes
  -- a name or an address; null: one that the node has
  add column sftp_host text,
  -- {port, address, fingerprint}, as its agent reported; null: it serves none
  add column sftp jsonb,
  -- the last batch of activity that was recorded, so that one that is sent again is not recorded again
  add column activity_batch text;
