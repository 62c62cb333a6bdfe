import { type Parsed, parsed } from '../../net/parsed.ts';
import type { Egg, EggImage } from '../egg.ts';
import type { ServerAssignment } from '../power.ts';
import { splitArguments } from './arguments.ts';
import { renderTemplate, type TemplateScope } from './templates.ts';
import { type RESERVED_VARIABLES, variableValues } from './variables.ts';

/** How one server of an egg is started. */
export interface Launch {
  readonly image: EggImage;
  /** null: the image's own entrypoint and command. */
  readonly command: readonly string[] | null;
  /**
   * For an image that has neither entrypoint nor command: the startup as arguments. Null: the egg has no startup.
   * With `launch: startup` the same as `command`.
   */
  readonly fallbackCommand: Parsed<readonly string[]> | null;
  readonly env: Readonly<Record<string, string>>;
  /** For templates in configuration files. */
  readonly scope: TemplateScope;
  /** In words: template names that nothing stands for, an image label that the egg does not have (any more). */
  readonly notes: readonly string[];
}

/** What every server of a node has in common. */
export interface LaunchSurroundings {
  /** IANA name, such as `Europe/Berlin`. */
  readonly timeZone: string;
  /** Where this node is, for `P_SERVER_LOCATION`. */
  readonly location: string;
}

/** Fails only where the egg's own startup must replace the command and cannot be split. */
export function planLaunch(
  egg: Egg,
  server: ServerAssignment,
  surroundings: LaunchSurroundings,
): Parsed<Launch> {
  const notes: string[] = [];
  const scope = templateScope(egg, server, surroundings);
  const split = egg.startup === null ? null : planArguments(egg.startup, scope, notes);
  if (egg.launch === 'startup' && split !== null && !split.ok) return split;
  return parsed({
    image: imageOf(egg, server.image, notes),
    command: egg.launch === 'startup' && split?.ok === true ? split.value : null,
    fallbackCommand: split,
    env: scope.environment,
    scope,
    notes,
  });
}

/** The environment of a server's install container: the same, without what only a start has. */
export function installEnvironment(launch: Launch): Readonly<Record<string, string>> {
  const { STARTUP: _, ...env } = launch.env;
  return env;
}

function templateScope(
  egg: Egg,
  server: ServerAssignment,
  { timeZone, location }: LaunchSurroundings,
): TemplateScope {
  const { uuid, allocation, limits } = server;
  const fixed = {
    TZ: timeZone,
    SERVER_MEMORY: String(limits.memory),
    SERVER_IP: allocation.ip,
    SERVER_PORT: String(allocation.port),
    P_SERVER_UUID: uuid,
    P_SERVER_LOCATION: location,
  } satisfies Partial<Record<(typeof RESERVED_VARIABLES)[number], string>>;
  const variables = variableValues(egg.variables, server.variables);
  const without = { environment: { ...variables, ...fixed }, uuid, allocation, limits };
  if (egg.startup === null) return without;
  return {
    ...without,
    environment: { ...without.environment, STARTUP: startupOf(egg.startup, without) },
  };
}

/**
 * `STARTUP` keeps `{{NAME}}` as it is: community images put the variables in themselves, by their own shell, which
 * then sees a value once and as a value. What no shell has a name for (`{{server.build.default.port}}`) is put in
 * here: numbers, addresses, and `{{server.build.env.NAME}}` as the `{{NAME}}` that images understand.
 */
function startupOf(startup: string, scope: TemplateScope): string {
  const names = Object.keys(scope.environment).map((name) => [name, `{{${name}}}`] as const);
  return renderTemplate(startup, { ...scope, environment: Object.fromEntries(names) }).text;
}

function planArguments(
  startup: string,
  scope: TemplateScope,
  notes: string[],
): Parsed<readonly string[]> {
  const unknown = new Set<string>();
  const split = splitArguments(startup, (part) => {
    const rendered = renderTemplate(part, scope, true);
    for (const name of rendered.unknown) unknown.add(name);
    return rendered.text;
  });
  for (const name of unknown) notes.push(`nothing stands for {{${name}}} in the startup`);
  return split;
}

function imageOf(egg: Egg, label: string | null, notes: string[]): EggImage {
  const found = label === null ? undefined : egg.images.find((image) => image.label === label);
  const [first] = egg.images;
  if (first === undefined) throw new Error('an egg has at least one image');
  if (label !== null && found === undefined) {
    notes.push(`the egg has no image "${label}": ${first.label} is used`);
  }
  return found ?? first;
}
