import type { Ability } from '@portcullis/core/access/abilities.ts';
import { parseCidr } from '@portcullis/core/net/cidr.ts';
import { type Caller, reachesNetwork } from '../access/index.ts';
import type { Db } from '../db/database.ts';
import { invalidValue } from '../problem.ts';
import type { EventFeed } from './feed.ts';
import { type Cursor, isKept, type StoredEvent } from './store.ts';

const RECONNECT_MS = 2_000;

/** The ability that the events of an area need. */
const ABILITY_OF: Readonly<Record<string, Ability>> = {
  write: 'firewall.read',
  propagation: 'firewall.read',
  attack: 'attacks.read',
  server: 'game-servers.read',
};

/** The text of a stream of server-sent events for a caller, until `ending` is aborted. */
export async function* streamEvents(
  { db, feed }: { readonly db: Db; readonly feed: EventFeed },
  caller: Caller,
  lastEventId: string | null,
  ending: AbortController,
): AsyncGenerator<string, void> {
  const after = lastEventId === null ? null : readCursor(lastEventId);
  yield `retry: ${RECONNECT_MS}\n\n`;
  if (after !== null && !(await isKept(db, after))) {
    yield 'event: gap\ndata: {"detail":"Older events are gone. Read again what you show."}\n\n';
  }
  const { organisationId } = caller;
  yield* feed.follow({ organisationId, sees: (event) => maySee(caller, event), after, ending });
}

/** Whether an event is of an area that the caller may read, and of a target within reach of its key. */
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

function readCursor(text: string): Cursor {
  const [, transaction, id] = /^(\d{1,19})-(\d{1,15})$/.exec(text) ?? [];
  if (transaction !== undefined && id !== undefined) return { transaction, id: Number(id) };
  const detail = 'must be the id of an event of this stream';
  throw invalidValue('The header Last-Event-ID', { parameter: 'Last-Event-ID' }, detail);
}
