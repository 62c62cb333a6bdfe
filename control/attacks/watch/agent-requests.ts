import type { AgentRef, ControlReply } from '@portcullis/link/messages/messages.ts';
import type { WireAttack } from '@portcullis/link/messages/attacks.ts';
import type { DetectionService } from '../../fleet/index.ts';
import type { Db } from '../../db/database.ts';
import { codeOf } from '../../db/failure.ts';
import type { ReportedAttack } from '../mitigations/facts.ts';
import { recordDelayed } from '../record/delayed-report.ts';
import type { WatchEvents } from './events.ts';
import type { DetectionLeader } from './leader.ts';
import { restoreDelayedBudget, takeDelayedBudget } from './delayed-report-budget.ts';
import { checkDelayed } from './delayed-report-rules.ts';
import { servedSamples } from './samples.ts';
import type { ScopeTable } from './scopes.ts';

export interface DetectionServiceOptions {
  readonly db: Db;
  readonly scopes: ScopeTable;
  readonly judge: Pick<DetectionLeader, 'accept'>;
  readonly events: Pick<WatchEvents, 'refused'>;
  readonly onAttack: (heard: ReportedAttack) => void;
}

const DONE: ControlReply = { kind: 'done' };
/** The database is queried every five seconds; after two failures it counts as lost. */
const LOST_MS = 12_000;

/** Answers the requests of edges and collectors about attacks. */
export function createDetectionService(options: DetectionServiceOptions): DetectionService {
  const { db, scopes, judge, events } = options;
  return {
    async settings(_from, asked) {
      await scopes.ready();
      return scopes.page(asked);
    },
    async samples(from, told) {
      await scopes.ready();
      const agent = scopes.agents.of(from);
      if (agent === null) return unknown(from);
      const { message, first, refused: count } = servedSamples(told, agent.served);
      if (first !== null) {
        events.refused({ from, what: 'samples', why: 'not_served', count, first });
      }
      const isJudged = await judge.accept(from, agent.site, message);
      return !isJudged || scopes.ageMs > LOST_MS ? unable() : DONE;
    },
    async attacks(from, message) {
      await scopes.ready();
      const agent = from.kind === 'edge' ? scopes.agents.of(from) : null;
      if (agent === null) return unknown(from);
      const { taken, refused } = checkDelayed(message, Date.now(), {
        isHeld: (subject) => scopes.of(subject) !== null,
        isServed: (subject) => agent.served.has(subject),
        keptMs: scopes.keptMs,
      });
      for (const { attack, why } of refused) {
        events.refused({ from, what: 'attacks', why, count: 1, first: attack.subject });
      }
      const count = taken.length;
      if (!(await takeDelayedBudget(db, from.name, count))) {
        const first = taken[0]?.subject ?? '';
        events.refused({ from, what: 'attacks', why: 'too_many', count, first });
        return tooMany();
      }
      try {
        for (const attack of taken) await take(options, from, attack);
      } catch (error) {
        // If this fails as well, the budget recovers with time.
        await restoreDelayedBudget(db, from.name, count).catch(() => {});
        throw error;
      }
      return DONE;
    },
  };
}

/** An attack that the database can never store would be repeated forever and block the others. */
async function take(
  { db, scopes, events, onAttack }: DetectionServiceOptions,
  from: AgentRef,
  attack: WireAttack,
): Promise<void> {
  const { subject: first } = attack;
  try {
    const thresholds = scopes.thresholdsOf(first);
    const heard = await recordDelayed(db, { edge: from.name, attack, thresholds });
    if (heard !== null) onAttack(heard);
  } catch (error) {
    if (!/^2[23]/.test(codeOf(error) ?? '')) throw error;
    events.refused({ from, what: 'attacks', why: 'unrecordable', count: 1, first });
  }
}

/** Without the database nothing can be detected or mitigated here: edges that get this act autonomously. */
function unable(): ControlReply {
  const detail =
    'Attacks can be neither judged nor recorded at the moment: the database does not answer, or no control plane judges.';
  return { kind: 'refused', code: 'unavailable', detail };
}

/** Unknown agents are refused at hello; a new agent is known here within seconds. */
function unknown({ kind, name }: AgentRef): ControlReply {
  const detail = `It is not known yet which traffic the ${kind} ${name} sees. Ask again.`;
  return { kind: 'refused', code: 'unavailable', detail };
}

function tooMany(): ControlReply {
  const detail = 'This edge has told of as many attacks as it may for now. Tell these later.';
  return { kind: 'refused', code: 'unavailable', detail };
}
