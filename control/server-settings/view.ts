import type { ServerObject } from '@portcullis/contract/schemas/declared/game-server.ts';
import { describeRight, type ServerRight } from '@portcullis/core/access/server-rights.ts';
import type { Egg, EggVariable } from '@portcullis/core/game-servers/egg.ts';
import { variableValues } from '@portcullis/core/game-servers/eggs/variables.ts';
import { variableView } from '../game-servers/index.ts';
import { isOfFile, settingsOf, type StoredServer } from '../operator/index.ts';

/** The right that each setting needs; the others need `startup.update`. */
const RIGHTS: Readonly<Record<string, ServerRight>> = {
  name: 'settings.rename',
  image: 'startup.docker-image',
};

/** The right that a change of a setting needs. */
export function rightFor(setting: string): ServerRight {
  return RIGHTS[setting] ?? 'startup.update';
}

/** The settings of a server as one of its people with these rights sees them. */
export function settingsView(stored: StoredServer, egg: Egg, rights: ReadonlySet<ServerRight>) {
  const { object } = stored;
  const labels = egg.images.map(({ label }) => label);
  const chosen = labels.find((label) => label === object.image) ?? null;
  const values = { ...variableValues(egg.variables, object.variables), ...portValues(object) };
  const shown = egg.variables.filter(({ viewable }) => viewable);
  return {
    name: object.name,
    egg: { name: object.egg, title: egg.name },
    image: { used: chosen ?? labels[0] ?? '', chosen, labels },
    start_with_host: object.start_with_host,
    stop_seconds: object.stop_seconds,
    stop_seconds_of_egg: Math.round(egg.stopTimes.termAfterMs / 1_000),
    crashes: object.crashes,
    variables: shown.map((variable) => ({
      ...variableView(variable),
      value: values[variable.env] ?? variable.defaultValue,
    })),
    fixed: fixedOf(stored, egg, rights),
  };
}

/** The part of the settings that a change may be conditional on. */
export function stateOf({ object }: StoredServer): string {
  return JSON.stringify([...settingsOf(object)]);
}

function portValues({ allocations }: ServerObject): Record<string, string> {
  const named = allocations.flatMap(({ variable, port }) =>
    variable === null ? [] : [[variable, String(port)] as const],
  );
  return Object.fromEntries(named);
}

/** The settings that the caller cannot change, each with the first reason that applies. */
function fixedOf(
  stored: StoredServer,
  egg: Egg,
  rights: ReadonlySet<ServerRight>,
): { readonly pointer: string; readonly reason: string }[] {
  const shown = egg.variables.filter(({ viewable }) => viewable);
  const variables = new Map(shown.map((variable) => [`/variables/${variable.env}`, variable]));
  const others = [...settingsOf(stored.object).keys()].filter(
    (pointer) => !pointer.startsWith('/variables/'),
  );
  return [...others, ...variables.keys()].flatMap((pointer) => {
    const variable = variables.get(pointer);
    const reason =
      lackOf(pointer, rights) ??
      (variable === undefined
        ? fixedImage(pointer, stored.object)
        : fixedVariable(variable, stored.object)) ??
      (isOfFile(stored, pointer) ? 'The fleet file of the operator states it.' : null);
    return reason === null ? [] : [{ pointer, reason }];
  });
}

/** An image that the operator set in place of the egg's leaves no choice. */
function fixedImage(pointer: string, { docker_image: image }: ServerObject): string | null {
  return pointer === '/image' && image !== null ? 'The operator set an image of its own.' : null;
}

function lackOf(pointer: string, rights: ReadonlySet<ServerRight>): string | null {
  const right = rightFor(pointer.split('/')[1] ?? '');
  return rights.has(right) ? null : `It needs the right ${right} (${describeRight(right)}).`;
}

/** Why nobody of a server can set a variable that they see; null if they can. */
export function fixedVariable(
  { env, editable }: EggVariable,
  { allocations }: Pick<ServerObject, 'allocations'>,
): string | null {
  if (!editable) return 'The egg leaves it to the operator.';
  return allocations.some(({ variable }) => variable === env)
    ? 'It is set to a port of the server.'
    : null;
}
