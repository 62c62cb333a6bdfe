/** The lists of blocked sources: dropped before any allow rule is read. */
export { type BlockedHandlers, createBlockedHandlers } from './handlers.ts';
export { endBlocked, saveBlocked } from './store.ts';
