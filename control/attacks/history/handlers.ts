import type { Handlers } from '../../http/operations/handlers.ts';
import { keyActor } from '../../access/index.ts';
import { noAttack } from '../../http/operations/not-found.ts';
import { detailView, findAttack } from './detail.ts';
import { createList, type ListDeps } from './list.ts';
import { Problem } from '../../problem.ts';
import { cancelIn } from '../response/index.ts';
import { acceptUsual, forgetUsual } from '../detection/index.ts';

const NOT_USUAL =
  'This does not look like usual traffic: that lasts an hour with a steady shape, from many sources. Thresholds can be set for the address, its service, prefix or organisation.';
const NOTHING_ACCEPTED = 'No traffic of this attack was accepted as usual.';

/** Operation 11 of the interface, and the x1 operations on attacks. */
export type AttackHandlers = Pick<
  Handlers,
  'listAttacks' | 'readAttack' | 'cancelMitigations' | 'acceptTraffic' | 'forgetTraffic'
>;

export function createHandlers(deps: ListDeps): AttackHandlers {
  const list = createList(deps);
  return {
    async listAttacks(call, db) {
      return { status: 200, body: await list(call, db) };
    },
    async readAttack(call, db) {
      const attack = await findAttack(db, call.by, call.params.attack);
      if (attack === null) throw noAttack();
      return { status: 200, body: await detailView(db, attack, new Date()) };
    },
    async cancelMitigations(call, tx) {
      const { attack: id } = call.params;
      if ((await findAttack(tx, call.by, id)) === null) throw noAttack();
      const actor = keyActor(call);
      const generation = (await cancelIn(tx, id, actor))?.generation ?? null;
      const message =
        generation === null
          ? 'Nothing is done against this attack.'
          : 'Nothing more is done against this attack once the edges have this change.';
      return { status: 200, body: { data: { attack: id, generation }, message } };
    },
    async acceptTraffic(call, tx) {
      const { attack: id } = call.params;
      if ((await findAttack(tx, call.by, id)) === null) throw noAttack();
      const accepted = await acceptUsual(tx, id, keyActor(call));
      if (accepted === null) throw new Problem('invalid_request', NOT_USUAL);
      const { target, pps, mbps } = accepted;
      const message = `${target} is attacked above ${pps} packets or ${mbps} Mbit a second from now on. This attack ends when its traffic has been below that for its hold time.`;
      return { status: 200, body: { data: { attack: id, target, pps, mbps }, message } };
    },
    async forgetTraffic(call, tx) {
      const { attack: id } = call.params;
      if ((await findAttack(tx, call.by, id)) === null) throw noAttack();
      const target = await forgetUsual(tx, id, keyActor(call));
      if (target === null) throw new Problem('invalid_request', NOTHING_ACCEPTED);
      const message = `${target} has the thresholds of its prefix, service or organisation again.`;
      return {
        status: 200,
        body: { data: { attack: id, target, pps: null, mbps: null }, message },
      };
    },
  };
}
