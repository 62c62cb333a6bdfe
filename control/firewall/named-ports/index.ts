export { findPort, type FoundPort, type NamedServer } from './resolve.ts';
export { followPorts } from './follow.ts';
export { renumber } from './resolve.ts';
export { portOf } from './resolve.ts';
export { lockNamedServers, lockServersNamedAt } from './resolve.ts';
export { type PortMention, type ResolvedPort, resolvePorts } from './resolve.ts';
