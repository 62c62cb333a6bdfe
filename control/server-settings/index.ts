import type { ServerObject } from '@portcullis/contract/schemas/declared/game-server.ts';
import type { Egg } from '@portcullis/core/game-servers/egg.ts';
import { keyActor, rightsOn } from '../access/index.ts';
import type { Db, Tx } from '../db/database.ts';
import {
  type GameServers,
  loadStoredEgg,
  loadWaiting,
  recordActivity,
  requireServer,
} from '../game-servers/index.ts';
import { sameState } from '../http/operations/etag.ts';
import type { CallOf, Handlers } from '../http/operations/handlers.ts';
import { notSeen } from '../http/operations/not-found.ts';
import type { Answer } from '../http/operations/operation.ts';
import { requireRight } from '../http/operations/server-right.ts';
import {
  changeForPeople,
  type EggLibrary,
  server as kind,
  type StoredServer,
} from '../operator/index.ts';
import { type FieldError, invalidField, Problem } from '../problem.ts';
import { fixedVariable, rightFor, settingsView, stateOf } from './view.ts';

type Names = 'readServerSettings' | 'changeServerSettings';
type Change = CallOf<'changeServerSettings'>;

interface SettingsDeps {
  readonly gameServers: Pick<GameServers, 'look'>;
  readonly library: EggLibrary;
}

/** The settings that the people of a server see and change. */
export function createServerSettings({ gameServers, library }: SettingsDeps): {
  readonly handlers: Pick<Handlers, Names>;
} {
  return {
    handlers: {
      async readServerSettings(call, db) {
        const row = await requireServer(db, call, 'startup.read');
        const live = await gameServers.look(row);
        const [stored] = await kind.load(db, [row.uuid]);
        if (stored === undefined) throw notSeen();
        const egg = await eggOf(db, stored);
        const waiting = await loadWaiting(db, row.uuid, egg, live);
        const data = settingsView(stored, egg, rightsOn(call.by, row.uuid));
        const meta = { state: live?.state ?? null, at_next_start: waiting };
        return { status: 200, body: { data, meta }, state: stateOf(stored) };
      },
      changeServerSettings: (call, tx) => change(call, tx, library),
    },
  };
}

async function change(call: Change, tx: Tx, library: EggLibrary): Promise<Answer> {
  const { uuid } = await requireServer(tx, call, 'startup.read');
  const rights = new Set(Object.keys(call.body).map(rightFor));
  for (const right of rights) requireRight(call.by, uuid, right);
  const written = await changeForPeople(tx, uuid, {
    actor: keyActor(call),
    library,
    async make(before) {
      requireState(call, before);
      return changed(before.object, await eggOf(tx, before), call.body);
    },
  });
  if (written === null) throw notSeen();
  const { current, changed: pointers } = written;
  const egg = await eggOf(tx, current);
  const names = pointers.map((pointer) => pointer.split('/').at(-1)).join(', ');
  if (pointers.length > 0) await recordActivity(tx, call, 'settings', { changed: names });
  const data = settingsView(current, egg, rightsOn(call.by, uuid));
  const atStart = pointers.filter(isTakenAtStart);
  const meta = { state: null, at_next_start: atStart };
  const message = wordsOf(pointers, atStart);
  return { status: 200, body: { data, meta, message }, state: stateOf(current) };
}

async function eggOf(db: Db | Tx, { object }: StoredServer): Promise<Egg> {
  const found = await loadStoredEgg(db, object.egg_digest);
  // It was removed together with its server.
  if (found === null) throw notSeen();
  return found.egg;
}

function requireState({ ifMatch }: Pick<Change, 'ifMatch'>, before: StoredServer): void {
  if (ifMatch === null || sameState(ifMatch, stateOf(before))) return;
  const detail = 'The settings were changed since they were read. Read them again.';
  throw new Problem('precondition_failed', detail);
}

/** The server with the changes of a body. What its egg lacks by now is left out. */
function changed(object: ServerObject, egg: Egg, body: Change['body']): ServerObject {
  const { variables = {}, crashes, image, ...others } = body;
  refuseVariables(object, egg, Object.keys(variables));
  if (typeof image === 'string' && object.docker_image !== null) {
    throw invalidField('/image', 'The operator set an image of its own, so none is chosen.');
  }
  const known = new Set(egg.variables.map(({ env }) => env));
  const values = new Map(Object.entries(object.variables).filter(([env]) => known.has(env)));
  for (const [env, value] of Object.entries(variables)) {
    if (value === null) values.delete(env);
    else values.set(env, String(value));
  }
  const isKnown = egg.images.some(({ label }) => label === object.image);
  return {
    ...object,
    ...others,
    image: image === undefined ? (isKnown ? object.image : null) : image,
    crashes: { ...object.crashes, ...crashes },
    variables: Object.fromEntries(values),
  };
}

/** Refuses variables that the people of a server do not see, as if there were none, and those that they may not set. */
function refuseVariables(object: ServerObject, egg: Egg, names: readonly string[]): void {
  const shown = new Map(
    egg.variables.filter(({ viewable }) => viewable).map((variable) => [variable.env, variable]),
  );
  const errors = names.flatMap((env): FieldError[] => {
    const variable = shown.get(env);
    const detail =
      variable === undefined
        ? `The egg has no variable ${env}.`
        : fixedVariable(variable, object)?.replace(/^It/, env);
    return detail === undefined ? [] : [{ pointer: `/variables/${env}`, detail }];
  });
  if (errors.length === 0) return;
  throw new Problem('invalid_request', errors.map(({ detail }) => detail).join(' '), { errors });
}

/** Whether a server that runs takes a setting at its next start only. */
function isTakenAtStart(pointer: string): boolean {
  return pointer === '/image' || pointer.startsWith('/variables/');
}

function wordsOf(changed: readonly string[], atStart: readonly string[]): string {
  if (changed.length === 0) return 'Nothing changed.';
  if (atStart.length === 0) return 'Saved.';
  const names = atStart.map((pointer) => pointer.split('/').at(-1)).join(', ');
  return `Saved. A server that runs takes it at its next start: ${names}.`;
}
