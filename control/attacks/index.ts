import { type AttackHandlers, createHandlers } from './handlers.ts';

export { sweepAttacks } from './retention.ts';

export interface AttackDeps {
  /** Base of the links in pages, without a trailing slash. */
  readonly publicUrl: string;
}

/** Attacks: how they are recorded, and what callers see of them. */
export interface Attacks {
  readonly handlers: AttackHandlers;
}

export function createAttacks({ publicUrl }: AttackDeps): Attacks {
  return { handlers: createHandlers({ publicUrl }) };
}
