-- The last changes that took a measurable time: where no edge enforces, none of many did.
create index generations_measured on generations (generation) where live_at > created_at;
