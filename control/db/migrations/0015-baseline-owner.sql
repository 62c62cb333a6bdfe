-- Rules of the operator's baseline that were made by hand, which a fleet file leaves alone.
alter table baseline_rules
  add column owner text not null default 'fleet' check (owner in ('fleet', 'portal'));
