import type { AgentRef, ControlReply } from '@portcullis/link/messages/messages.ts';
import type { OutageAttack, WireSample } from '@portcullis/link/messages/attacks.ts';
import type { Outside } from '../../../agents/scope.ts';
import type { DetectionService } from '../../../agents/detection-service.ts';
import type { Db } from '../../../db/database.ts';
import { datedByAge, recordOutageAttacks } from '../record/outage.ts';
import type { WatchEvents, WatchRefusal } from './events.ts';
import { type DetectionLeader, RENEWAL_MS } from './leader.ts';
import type { ScopeTable } from '../scopes/scope-table.ts';

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
  const refuseOutside = (
    from: AgentRef,
    what: 'samples' | 'attacks',
    outside: Outside | null,
  ): void => {
    if (outside === null) return;
    const { count, examples } = outside;
    events.refused({ from, what, why: 'not_served', count, first: examples[0] ?? '' });
  };
  return {
    async settings(_from, asked) {
      await scopes.ready();
      return scopes.page(asked);
    },
    async samples(from, { request: message, site, outside }) {
      await scopes.ready();
      refuseOutside(from, 'samples', outside);
      const samples =
        from.kind === 'edge' ? countedBy(from.name, message.samples, scopes) : message.samples;
      const isAccepted = await leader.accept(from, site, { ...message, samples });
      return !isAccepted || leader.silentMs > LOST_MS ? unable() : DONE;
    },
    async attacks(from, { request: message, outside }) {
      await scopes.ready();
      refuseOutside(from, 'attacks', outside);
      const nowMs = Date.now();
      const taken: OutageAttack[] = [];
      for (const reported of message.attacks) {
        const attack = datedByAge(reported, message.atMs, nowMs);
        const isCounted = scopes.isCountedBy(from.name, attack.subject);
        const why = isCounted ? refusalOf(attack, nowMs, scopes) : 'not_served';
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

/** The prefixes whose traffic an edge counts, without those that an edge serves in part and of which it counts nothing. */
function countedBy(
  edge: string,
  samples: readonly WireSample[],
  scopes: ScopeTable,
): readonly WireSample[] {
  const known = new Map<string, boolean>();
  const isCounted = (subject: string): boolean => {
    const answer = known.get(subject) ?? scopes.isCountedBy(edge, subject);
    known.set(subject, answer);
    return answer;
  };
  const isOwn = ({ subject }: { readonly subject: string }): boolean => isCounted(subject);
  return samples.map((sample) => ({
    ...sample,
    // It would be subtracted from the traffic of that prefix.
    addresses: sample.addresses.map((one) =>
      one.prefix === null || isCounted(one.prefix) ? one : { ...one, prefix: null },
    ),
    prefixes: sample.prefixes.filter(isOwn),
    tops: sample.tops.filter(isOwn),
  }));
}

function refusalOf(
  { subject, startedAtMs }: OutageAttack,
  nowMs: number,
  scopes: ScopeTable,
): WatchRefusal | null {
  // Without a holding no caller could see it.
  if (scopes.of(subject) === null) return 'not_held';
  return startedAtMs < nowMs - scopes.keptMs ? 'too_old' : null;
}

/** The reply: without the database nothing can be detected or mitigated here: edges that get this act autonomously. */
function unable(): ControlReply {
  const detail =
    'Attacks can be neither detected nor recorded at the moment: the database does not answer, or no control plane runs the detector.';
  return { kind: 'refused', code: 'unavailable', detail };
}
