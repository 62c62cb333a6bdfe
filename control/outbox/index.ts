export { type Attempt, claimAttempts, type OutboxTable, storeResult } from './attempts.ts';
export { type Outbox, type Sender, startOutbox } from './outbox.ts';
