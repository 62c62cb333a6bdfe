import type { AgentRef, ControlReply } from '@portcullis/link/messages/messages.ts';
import type { OutageAttack } from '@portcullis/link/messages/attacks.ts';
import type { DetectionService } from '../../fleet/index.ts';
import type { Db } from '../../db/database.ts';
import { datedByAge, recordOutageAttacks } from '../record/outage.ts';
import { servedSamples, type WatchAgent } from './agents.ts';
import type { WatchEvents, WatchRefusal } from './events.ts';
import { type DetectionLeader, RENEWAL_MS } from './leader.ts';
import type { ScopeTable } from './scopes.ts';

export interface DetectionServiceOptions {
  readonly db: Db;
  readonly scopes: ScopeTable;
  readonly leader: Pick<DetectionLeader, 'accept' | 'silentMs'>;
  readonly events: Pick<WatchEvents, 'recorded' | 'refused'>;
}

const DONE: ControlReply = { kind: 'done' };
/** After so many renewals without an answer the database counts as lost. */
const LOST_MS = 12 * RENEWAL_MS;

/** Answers the requests of edges and collectors about attacks. */
export function createDetectionService(options: DetectionServiceOptions): DetectionService {
  const { db, scopes, leader, events } = options;
  return {
    async settings(_from, asked) {
      await scopes.ready();
      return scopes.page(asked);
    },
    async samples(from, sent) {
      await scopes.ready();
      const agent = scopes.agents.of(from);
      if (agent === null) return unknown(from);
      const { message, first, refused: count } = servedSamples(sent, agent.served);
      if (first !== null) {
        events.refused({ from, what: 'samples', why: 'not_served', count, first });
      }
      const isAccepted = await leader.accept(from, agent.site, message);
      return !isAccepted || leader.silentMs > LOST_MS ? unable() : DONE;
    },
    async attacks(from, message) {
      await scopes.ready();
      const agent = from.kind === 'edge' ? scopes.agents.of(from) : null;
      if (agent === null) return unknown(from);
      const nowMs = Date.now();
      const taken: OutageAttack[] = [];
      for (const reported of message.attacks) {
        const attack = datedByAge(reported, message.atMs, nowMs);
        const why = refusalOf(attack, nowMs, scopes, agent);
        if (why === null) taken.push(attack);
        else events.refused({ from, what: 'attacks', why, count: 1, first: attack.subject });
      }
      for (const { attackId, attack } of await recordOutageAttacks(db, from.name, taken)) {
        events.recorded({ attackId, kind: 'ended', attack });
      }
      return DONE;
    },
  };
}

function refusalOf(
  { subject, startedAtMs }: OutageAttack,
  nowMs: number,
  scopes: ScopeTable,
  { served }: WatchAgent,
): WatchRefusal | null {
  // Without a holding no caller could see it.
  if (scopes.of(subject) === null) return 'not_held';
  if (!served.has(subject)) return 'not_served';
  return startedAtMs < nowMs - scopes.keptMs ? 'too_old' : null;
}

/** Without the database nothing can be detected or mitigated here: edges that get this act autonomously. */
function unable(): ControlReply {
  const detail =
    'Attacks can be neither detected nor recorded at the moment: the database does not answer, or no control plane runs the detector.';
  return { kind: 'refused', code: 'unavailable', detail };
}

/** Unknown agents are refused at hello; a new agent is known here within seconds. */
function unknown({ kind, name }: AgentRef): ControlReply {
  const detail = `It is not known yet which traffic the ${kind} ${name} sees. Ask again.`;
  return { kind: 'refused', code: 'unavailable', detail };
}
