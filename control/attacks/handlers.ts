import type { Handlers } from '../http/operations/handlers.ts';
import { keyActor } from '../access/index.ts';
import { noAttack } from '../http/operations/not-found.ts';
import { detailView, findAttack } from './detail.ts';
import { createList, type ListDeps } from './history/list.ts';
import { cancelIn } from './mitigations/cancel.ts';

/** Operation 11 of the interface, and the x1 operations on attacks. */
export type AttackHandlers = Pick<Handlers, 'listAttacks' | 'readAttack' | 'cancelMitigations'>;

export function createHandlers(deps: ListDeps): AttackHandlers {
  const list = createList(deps);
  return {
    async listAttacks(call, db) {
      return { status: 200, body: await list(call, db) };
    },
    async readAttack(call, db) {
      const attack = await findAttack(db, call.caller, call.attack);
      if (attack === null) throw noAttack();
      return { status: 200, body: await detailView(db, attack, new Date()) };
    },
    async cancelMitigations(call, tx) {
      const { caller, attack: id } = call;
      if ((await findAttack(tx, caller, id)) === null) throw noAttack();
      const actor = keyActor(call);
      const generation = (await cancelIn(tx, id, actor))?.generation ?? null;
      const message =
        generation === null
          ? 'Nothing is done against this attack.'
          : 'Nothing more is done against this attack once the edges have this change.';
      return { status: 200, body: { data: { attack: id, generation }, message } };
    },
  };
}
