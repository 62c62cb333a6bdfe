import type { Handlers } from '../http/handlers.ts';
import { createList, type ListDeps } from './history/list.ts';

/** Operation 11 of the interface. */
export type AttackHandlers = Pick<Handlers, 'listAttacks'>;

export function createHandlers(deps: ListDeps): AttackHandlers {
  const list = createList(deps);
  return {
    async listAttacks(call, db) {
      return { status: 200, body: await list(call, db) };
    },
  };
}
