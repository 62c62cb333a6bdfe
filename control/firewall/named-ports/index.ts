export { findPort, type FoundPort, isPortName, type NamedServer } from './find.ts';
export { followPorts } from './follow.ts';
export { renumber } from './renumber.ts';
export { portOf } from './request.ts';
export { type PortMention, type ResolvedPort, resolvePorts } from './resolve.ts';
