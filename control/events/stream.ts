import type { Ability } from '@portcullis/core/access/abilities.ts';
import { canonicalAddress } from '@portcullis/core/net/address.ts';
import { parseCidr } from '@portcullis/core/net/cidr.ts';
import { type Caller, reachesNetwork } from '../access/index.ts';
import type { Db } from '../db/database.ts';
import { invalidValue } from '../problem.ts';
import type { EventFeed } from './feed.ts';
import { type Cursor, isKept, type StoredEvent } from './store.ts';

/** How often a comment shows that the connection lives. */
const IDLE_MS = 15_000;
const RECONNECT_MS = 2_000;

/** The ability that the events of an area need. */
const ABILITY_OF: Readonly<Record<string, Ability>> = {
  write: 'firewall.read',
  propagation: 'firewall.read',
  attack: 'attacks.read',
  server: 'game-servers.read',
};

/** The text of a stream of server-sent events for a caller, for ever. */
export async function* streamEvents(
  { db, feed }: { readonly db: Db; readonly feed: EventFeed },
  caller: Caller,
  lastEventId: string | null,
  signal: AbortSignal,
): AsyncGenerator<string, void> {
  const after = lastEventId === null ? null : readCursor(lastEventId);
  yield `retry: ${RECONNECT_MS}\n\n`;
  if (after !== null && !(await isKept(db, after))) {
    yield 'event: gap\ndata: {"detail":"Older events are gone. Read again what you show."}\n\n';
  }
  const { organisationId } = caller;
  for await (const events of feed.follow({ organisationId, after, idleMs: IDLE_MS, signal })) {
    const shown = events.filter((event) => maySee(caller, event));
    const last = events.at(-1);
    if (shown.length > 0) yield shown.map(formatEvent).join('');
    // Also without a visible event the cursor advances, so that a resume does not read them again.
    else yield last === undefined ? ': idle\n\n' : `id: ${cursorText(last)}\n\n`;
  }
}

/** Of an area that the caller may read, and of a target within reach of its key. */
export function maySee(
  caller: Pick<Caller, 'abilities' | 'prefixes' | 'servers'>,
  { kind, target }: Pick<StoredEvent, 'kind' | 'target'>,
): boolean {
  const ability = ABILITY_OF[kind.slice(0, kind.indexOf('.'))];
  if (ability === undefined || !caller.abilities.has(ability)) return false;
  if (ability === 'game-servers.read') {
    return caller.servers === null || caller.servers.includes(target);
  }
  const network = parseCidr(target);
  return network.ok ? reachesNetwork(caller.prefixes, network.value) : caller.prefixes === null;
}

/** https://html.spec.whatwg.org/multipage/server-sent-events.html; JSON has no line ends. */
function formatEvent(event: StoredEvent): string {
  return `id: ${cursorText(event)}\nevent: ${event.kind}\ndata: ${JSON.stringify(eventView(event))}\n\n`;
}

export function eventView({ id, at, kind, target, data }: StoredEvent) {
  return {
    id,
    at: at.toISOString().replace('Z', '+00:00'),
    kind,
    target: canonicalAddress(target) ?? target,
    data,
  };
}

function cursorText({ transaction, id }: Cursor): string {
  return `${transaction}-${id}`;
}

function readCursor(text: string): Cursor {
  const [, transaction, id] = /^(\d{1,19})-(\d{1,15})$/.exec(text) ?? [];
  if (transaction !== undefined && id !== undefined) return { transaction, id: Number(id) };
  const detail = 'must be the id of an event of this stream';
  throw invalidValue('The header Last-Event-ID', { parameter: 'Last-Event-ID' }, detail);
}
