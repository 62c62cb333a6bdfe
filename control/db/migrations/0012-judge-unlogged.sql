-- Renewed twice a second for as long as control runs, and worth nothing after a crash: nothing waits for the disk.
alter table attack_judge set unlogged;
