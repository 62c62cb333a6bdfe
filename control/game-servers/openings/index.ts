/** Ports that are allowed while their server runs, and filters that follow ports. */
export { touchManaged } from './managed.ts';
export { lockNodes, settleOpenings } from './settle.ts';
