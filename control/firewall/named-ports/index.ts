export { followPorts } from './follow.ts';
export { renumber } from './renumber.ts';
export { portOf } from './request.ts';
export { type PortMention, type ResolvedPort, resolvePorts } from './resolve.ts';
