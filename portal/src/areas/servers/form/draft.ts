import type { DeclaredServer, Eggs, ServerOrder } from '@portcullis/client/index.ts';
import { serverFormMessages as text } from '../../../messages/servers/form.ts';

export type Egg = Omit<Eggs['data'][number], 'shipped' | 'offered' | 'source'>;
export type EggHost = Egg['hosts'][number];
export type EggVariable = Egg['variables'][number];

/** The name by which the form knows an egg of its own. */
export const OWN_EGG = 'own';

export type LimitName = Exclude<keyof ServerOrder['limits'], 'cores' | 'oom'>;

/** The limits of a server that are numbers, with the values that their fields begin with and the least that they take. */
export const LIMITS = {
  memory: { initial: 1_024, least: 0 },
  cpu: { initial: 100, least: 0 },
  disk: { initial: 2_048, least: 0 },
  swap: { initial: 0, least: -1 },
  io: { initial: 500, least: 10 },
  entries: { initial: 0, least: 0 },
  ports: { initial: 0, least: 0 },
} as const satisfies Record<LimitName, { readonly initial: number; readonly least: number }>;
export const LIMIT_NAMES = Object.keys(LIMITS) as LimitName[];

interface LimitsDraft extends Readonly<Record<LimitName, number | string>> {
  /** '': all. */
  readonly cores: string;
  readonly oom: boolean;
}

/** The fields that the form of a new server holds. */
export interface Draft {
  readonly name: string;
  /** A name of the library, or `OWN_EGG`; '': none is chosen. */
  readonly egg: string;
  readonly service: string | null;
  readonly node: string | null;
  readonly image: string | null;
  /** Variables: those of the chosen egg that differ from their default, by environment name. */
  readonly variables: Readonly<Record<string, string>>;
  readonly limits: LimitsDraft;
  readonly address: string | null;
  readonly port: number | string;
  readonly open: boolean;
}

export const EMPTY: Draft = {
  name: '',
  egg: '',
  service: null,
  node: null,
  image: null,
  variables: {},
  limits: { ...limitsBy((limit) => LIMITS[limit].initial), cores: '', oom: true },
  address: null,
  port: '',
  open: true,
};

/**
 * The host that decides whether an egg can be chosen: of a node, else the one nearest to running it. Null: there is
 * none.
 */
export function hostOf({ hosts }: Pick<Egg, 'hosts'>, node: string | null): EggHost | null {
  const considered = hosts.filter((host) => node === null || host.node === node);
  return (
    considered.find(({ ok }) => ok) ??
    considered.find(({ image }) => image !== null) ??
    considered[0] ??
    null
  );
}

/** The variables that differ from their defaults: the egg's defaults may change later. */
export function givenVariables(
  variables: readonly EggVariable[],
  typed: Readonly<Record<string, string>>,
): Record<string, string> {
  const given = variables.flatMap(({ env, default: value }) => {
    const wanted = typed[env];
    return wanted === undefined || wanted === value ? [] : [[env, wanted] as const];
  });
  return Object.fromEntries(given);
}

/** The variables of a change: null for those that have their default again. */
export function variablesPatch(
  variables: readonly EggVariable[],
  typed: Readonly<Record<string, string>>,
): Record<string, string | null> {
  const given = givenVariables(variables, typed);
  return Object.fromEntries(variables.map(({ env }) => [env, given[env] ?? null]));
}

/** The input that `createServer` takes. `document`: that of an egg of its own. */
export function serverInput(
  organisation: string,
  draft: Draft,
  { egg, document }: { readonly egg: Egg; readonly document: object | null },
): ServerOrder {
  const { address, port } = draft;
  const isPlaced = address !== null && port !== '';
  return {
    organisation,
    service: Number(draft.service),
    name: draft.name.trim(),
    ...(document === null
      ? { egg: draft.egg }
      : { egg_document: document as Record<string, unknown> }),
    node: draft.node,
    image: draft.image,
    variables: givenVariables(egg.variables, draft.variables),
    limits: sentLimits(draft),
    open_while_running: draft.open,
    ...(isPlaced && { allocations: [{ ip: address, port: Number(port) }] }),
  };
}

export function sentLimits({ limits }: Pick<Draft, 'limits'>): ServerOrder['limits'] {
  const { cores, oom } = limits;
  return { ...limitsBy((limit) => Number(limits[limit])), cores: cores.trim() || null, oom };
}

/** The limits of a server as its form begins with them. */
export function limitsDraft({ cores, ...limits }: DeclaredServer['limits']): LimitsDraft {
  return { ...limits, cores: cores ?? '' };
}

function limitsBy<T>(valueOf: (limit: LimitName) => T): Record<LimitName, T> {
  return Object.fromEntries(LIMIT_NAMES.map((limit) => [limit, valueOf(limit)])) as Record<
    LimitName,
    T
  >;
}

/** Describes what a variable takes beyond its input, in words: `a whole number, from 1 to 200`. */
export function describeInput({ input }: Pick<EggVariable, 'input'>): string {
  const { kind, whole, least, most } = input;
  if (kind === 'number') {
    return [whole ? text.rules.integer : text.rules.numeric, describeBounds(least, most)]
      .filter((part) => part !== '')
      .join(', ');
  }
  return kind === 'text' && most !== null ? text.rules.longest(String(most)) : '';
}

function describeBounds(least: number | null, most: number | null): string {
  if (least !== null && most !== null) return text.rules.between(String(least), String(most));
  if (least !== null) return text.rules.min(String(least));
  return most === null ? '' : text.rules.max(String(most));
}
