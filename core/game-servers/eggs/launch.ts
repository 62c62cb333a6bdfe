import { type Parsed, parsed } from '../../net/parsed.ts';
import type { Egg, EggImage } from '../egg.ts';
import type { ServerAssignment } from '../power.ts';
import { splitArguments } from './arguments.ts';
import { renderTemplate, type TemplateScope } from './templates.ts';
import { type RESERVED_VARIABLES, variableValues } from './variables.ts';

/** The start of one server of an egg. */
export interface Launch {
  readonly image: EggImage;
  /** Null: the entrypoint and command of the image. */
  readonly command: readonly string[] | null;
  /**
   * For an image that has neither entrypoint nor command: the startup as arguments. Null: the egg has no startup.
   * With `launch: startup` the same as `command`.
   */
  readonly fallbackCommand: Parsed<readonly string[]> | null;
  readonly env: Readonly<Record<string, string>>;
  /** For templates in configuration files. */
  readonly scope: TemplateScope;
  /** Problems in sentences: template names without a value, or an image label that the egg does not have. */
  readonly notes: readonly string[];
}

/** The settings shared by all servers of a node. */
export interface LaunchSurroundings {
  /** IANA name, such as `Europe/Berlin`. */
  readonly timeZone: string;
  /** Where this node is, for `P_SERVER_LOCATION`. */
  readonly location: string;
}

/** Fails only if the startup of the egg must replace the command and cannot be split. */
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

/** The environment of the install container of a server: the same, without the variables of a start. */
export function installEnvironment(launch: Launch): Readonly<Record<string, string>> {
  const { STARTUP: _, ...env } = launch.env;
  return env;
}

function templateScope(
  egg: Egg,
  server: ServerAssignment,
  { timeZone, location }: LaunchSurroundings,
): TemplateScope {
  const { uuid, allocation, limits, ports } = server;
  const fixed = {
    TZ: timeZone,
    SERVER_MEMORY: String(limits.memory),
    SERVER_IP: allocation.ip,
    SERVER_PORT: String(allocation.port),
    P_SERVER_UUID: uuid,
    P_SERVER_LOCATION: location,
  } satisfies Partial<Record<(typeof RESERVED_VARIABLES)[number], string>>;
  const named = ports.flatMap(({ variable, port }) =>
    variable === null ? [] : [[variable, String(port)] as const],
  );
  const variables = {
    ...variableValues(egg.variables, server.variables),
    ...Object.fromEntries(named),
  };
  const without = { environment: { ...variables, ...fixed }, uuid, allocation, limits };
  if (egg.startup === null) return without;
  return {
    ...without,
    environment: { ...without.environment, STARTUP: startupOf(egg.startup, without) },
  };
}

/**
 * `STARTUP` keeps `{{NAME}}`: community images expand the variables in their own shell, so a value is never parsed
 * twice. Names that a shell does not have, such as `{{server.build.default.port}}`, are expanded here: numbers,
 * addresses, and `{{server.build.env.NAME}}` as the `{{NAME}}` that images expand.
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
