import type { AgentRef, ControlReply } from '@portcullis/link/messages.ts';
import type { EdgeAttacks, WireAttack } from '@portcullis/link/watch-messages.ts';
import type { WatchDesk } from '../../fleet/index.ts';
import type { Db } from '../../db/database.ts';
import type { HeardAttack } from '../mitigations/facts.ts';
import { recordLate } from '../record/late.ts';
import type { DetectorHost } from './host.ts';
import type { ScopeTable } from './scopes.ts';

export interface DeskOptions {
  readonly db: Db;
  readonly scopes: ScopeTable;
  readonly host: Pick<DetectorHost, 'accept'>;
  readonly onAttack: (heard: HeardAttack) => void;
}

const DONE: ControlReply = { kind: 'done' };
/** Less than this far off, an edge's clock is right: its messages take as long. */
const CLOCK_ERROR_MS = 2_000;
/** The database is asked every five seconds; one that misses two of these is lost. */
const LOST_MS = 12_000;
/** Nobody may look further back, so nothing older is recorded. */
const OLDEST_MS = 36_500 * 86_400_000;

/** What control answers those who measure traffic. */
export function createWatchDesk({ db, scopes, host, onAttack }: DeskOptions): WatchDesk {
  return {
    async settings(_from, asked) {
      await scopes.ready();
      return scopes.page(asked);
    },
    async samples(from, message) {
      await scopes.ready();
      const site = scopes.siteOf(from);
      if (site === null) return unknown(from);
      host.accept(`${from.kind}/${from.name}`, site, message);
      return scopes.ageMs > LOST_MS ? unable() : DONE;
    },
    async attacks(from, message) {
      await scopes.ready();
      if (scopes.siteOf(from) === null) return unknown(from);
      for (const attack of datedHere(message)) {
        // What nobody holds, nobody could see.
        if (scopes.of(attack.subject) === null) continue;
        const thresholds = scopes.thresholdsOf(attack.subject);
        const heard = await recordLate(db, { edge: from.name, attack, thresholds });
        if (heard !== null) onAttack(heard);
      }
      return DONE;
    },
  };
}

/** Nothing can be recorded or mitigated from here: edges that hear this act by themselves. */
function unable(): ControlReply {
  const detail = 'The database does not answer: attacks can be neither recorded nor mitigated.';
  return { kind: 'refused', code: 'unavailable', detail };
}

/** Whether it is of the fleet, its hello is told; what is new there is known here within seconds. */
function unknown({ kind, name }: AgentRef): ControlReply {
  const detail = `It is not known yet which traffic the ${kind} ${name} sees. Ask again.`;
  return { kind: 'refused', code: 'unavailable', detail };
}

/** By control's clock, as far as the message tells how far the edge's is off; nothing is of the future. */
function datedHere({ atMs, attacks }: EdgeAttacks): WireAttack[] {
  const now = Date.now();
  const offMs = Math.abs(now - atMs) > CLOCK_ERROR_MS ? now - atMs : 0;
  const dated = (ms: number): number => Math.min(now, Math.max(now - OLDEST_MS, ms + offMs));
  return attacks.map((attack) => {
    const startedAtMs = dated(attack.startedAtMs);
    const later = (ms: number): number => Math.max(startedAtMs, dated(ms));
    return {
      ...attack,
      startedAtMs,
      openedAtMs: later(attack.openedAtMs),
      endedAtMs: attack.endedAtMs === null ? null : later(attack.endedAtMs),
      mitigatedAtMs: attack.mitigatedAtMs === null ? null : later(attack.mitigatedAtMs),
    };
  });
}
