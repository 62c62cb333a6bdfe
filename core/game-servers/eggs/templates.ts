/** All values that a template may read. */
export interface TemplateScope {
  /** The whole environment: the variables of the server and those of every server (`SERVER_PORT`...). */
  readonly environment: Readonly<Record<string, string>>;
  readonly uuid: string;
  readonly allocation: { readonly ip: string; readonly port: number };
  /** MiB, percent of one core, MiB. */
  readonly limits: { readonly memory: number; readonly cpu: number; readonly disk: number };
}

export interface Rendered {
  readonly text: string;
  /** Names without a value, without duplicates; they are left unchanged. */
  readonly unknown: readonly string[];
}

const TEMPLATE = /\{\{ ?([\w.-]{1,200}) ?\}\}/g;

const SERVER: Readonly<Record<string, (scope: TemplateScope) => string>> = {
  'server.build.default.ip': ({ allocation }) => allocation.ip,
  'server.build.default.port': ({ allocation }) => String(allocation.port),
  'server.allocations.default.ip': ({ allocation }) => allocation.ip,
  'server.allocations.default.port': ({ allocation }) => String(allocation.port),
  'server.build.memory': ({ limits }) => String(limits.memory),
  'server.build.memory_limit': ({ limits }) => String(limits.memory),
  'server.build.cpu': ({ limits }) => String(limits.cpu),
  'server.build.cpu_limit': ({ limits }) => String(limits.cpu),
  'server.build.disk': ({ limits }) => String(limits.disk),
  'server.build.disk_space': ({ limits }) => String(limits.disk),
  'server.uuid': ({ uuid }) => uuid,
};
const VARIABLES = [
  'env.',
  'server.build.env.',
  'server.build.environment.',
  'server.environment.',
] as const;

/**
 * Replaces `{{name}}` by values, once: templates inside of values are not expanded. The names:
 *
 *     {{env.NAME}} {{server.build.env.NAME}} {{server.environment.NAME}}     a variable
 *     {{server.build.default.port}} ...                                      the table above
 *     {{NAME}}                                                               a variable, with `bare`
 *
 * Games use braces too, so in a file only names that start as above or with `config.` are templates. Unknown ones stay
 * unchanged and are reported. `{{config.*}}` is unknown too, because it once exposed the token of the daemon: templates
 * must not read properties of the host.
 */
export function renderTemplate(text: string, scope: TemplateScope, bare = false): Rendered {
  const unknown = new Set<string>();
  const rendered = text.replaceAll(TEMPLATE, (whole: string, name: string) => {
    const value = lookUp(name, scope, bare);
    if (value === null && isOurs(name, bare)) unknown.add(name);
    return value ?? whole;
  });
  return { text: rendered, unknown: [...unknown] };
}

/** Names in a text that are neither in the table nor among these variables. */
export function unknownNames(
  text: string,
  variables: ReadonlySet<string>,
  bare = false,
): readonly string[] {
  const names = [...text.matchAll(TEMPLATE)].map((match) => match[1] as string);
  return [...new Set(names)].filter((name) => {
    if (!isOurs(name, bare)) return false;
    const variable = variableOf(name, bare);
    return variable === null ? !Object.hasOwn(SERVER, name) : !variables.has(variable);
  });
}

function lookUp(name: string, scope: TemplateScope, bare: boolean): string | null {
  const variable = variableOf(name, bare);
  if (variable !== null) {
    return Object.hasOwn(scope.environment, variable)
      ? (scope.environment[variable] ?? null)
      : null;
  }
  return Object.hasOwn(SERVER, name) ? (SERVER[name]?.(scope) ?? null) : null;
}

function isOurs(name: string, bare: boolean): boolean {
  return bare || /^(?:server|env|config)\./.test(name);
}

/** The variable that a template names, or null. */
function variableOf(name: string, bare: boolean): string | null {
  const prefix = VARIABLES.find((one) => name.startsWith(one));
  if (prefix !== undefined) return name.slice(prefix.length);
  return bare && !name.includes('.') ? name : null;
}
