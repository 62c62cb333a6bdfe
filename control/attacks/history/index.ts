import { type AttackHandlers, createHandlers } from './handlers.ts';

export interface HistoryDeps {
  /** The base of links in pages, without a trailing slash. */
  readonly publicUrl: string;
}

/** The recorded attacks: what callers read of them and decide about them. */
export interface History {
  readonly handlers: AttackHandlers;
}

export function createHistory(deps: HistoryDeps): History {
  return { handlers: createHandlers(deps) };
}
