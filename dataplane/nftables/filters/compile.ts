import { FILTERS } from '@portcullis/core/filters/catalogue.ts';
import type { Filter } from '@portcullis/core/filters/filter.ts';
import { combineFilters } from '@portcullis/core/filters/program.ts';
import { withSettings } from '@portcullis/core/filters/settings.ts';
import { protocolNumber } from '@portcullis/core/firewall/match.ts';
import type { EdgeSettings } from '@portcullis/core/firewall/packet.ts';
import {
  MITIGATION_REF,
  type Policy,
  type PolicyFilter,
} from '@portcullis/core/firewall/policy.ts';
import { type Family, formatAddress } from '@portcullis/core/net/address.ts';
import type { Cidr } from '@portcullis/core/net/cidr.ts';
import type { Element, TargetFilters } from '../policy/compiled.ts';
import { portChain, portChains } from './chains.ts';
import type { AddChain } from '../chain.ts';
import type { FilteredPort, FilterContext } from './filter-context.ts';
import { LINUX_SERVER, type TcpServer } from '../../filters/tcp-server.ts';
import { prefixPortChain } from './prefixes.ts';
import { isSingle, PolicyError } from '../../compile/match.ts';
import {
  contentName,
  dispatchMap,
  PORT_DISPATCHES,
  type PortDispatch,
  protocolName,
} from '../names.ts';
import { bySource, valuesOf } from './safe-sources.ts';

/**
 * The settings of filters that policies do not contain. A test that compares the kernel with `decide` supplies
 * `state.filters` by its own catalogue: with `budgetPps: 0` no unvalidated source passes a UDP filter, and with
 * unreachable rates every validated source passes. The test adds validated sources to the set `validated4` or
 * `validated6` of its table (`state.ts`).
 */
export interface Filtering {
  readonly sees: EdgeSettings['sees'];
  readonly catalogue: readonly Filter[];
  /** The handshake options of the server at an address and port; null if unknown. */
  readonly serverAt: (address: string, port: number) => TcpServer | null;
}

export const DEFAULT_FILTERING: Filtering = {
  sees: 'both',
  catalogue: FILTERS,
  serverAt: () => null,
};

export interface CompiledFilters {
  /** The verdict of rules that accept a packet. */
  readonly accept: string;
  readonly elements: readonly Element[];
  readonly target: TargetFilters;
}

const NONE = {
  programs: new Map(),
  limits: new Map(),
  ports: new Map(),
  prefixChains: new Map(),
} as const;

/**
 * All packets that the rules of an address accept go to the chain `filters`, whichever lookup matched. It dispatches by
 * destination and port; ports with equal filters share a chain. A prefix has its own chain, which dispatches by port.
 */
export function compileFilters(
  policy: Policy,
  cidr: Cidr,
  filtering: Filtering,
  add: AddChain,
): CompiledFilters {
  const { family } = cidr;
  const filtered = filteredPorts(policy, family, filtering);
  const unknown = unknownTypes(policy, filtering);
  if (filtered.length === 0) {
    return { accept: 'accept', elements: [], target: { ...NONE, unknown } };
  }
  const context: FilterContext = {
    family,
    sees: filtering.sees,
    prefix: !isSingle(cidr),
    serverAt: (port) => filtering.serverAt(policy.target, port) ?? LINUX_SERVER[family],
  };
  const verdicts = filtered.map((one): PortVerdict => {
    const protocol = protocolName(protocolNumber(one.transport, family));
    return { protocol, port: one.port, verdict: `goto ${portChain(one, context, add)}` };
  });
  const dispatched = dispatchedPorts(filtered, context, add);
  const compiled = context.prefix
    ? filtersOfPrefix(verdicts, dispatched, add)
    : filtersOfAddress(cidr, verdicts, dispatched);
  const lasting = lastingPrograms(policy, context, filtering);
  return { ...compiled, target: { ...compiled.target, unknown, ...lasting } };
}

/**
 * Programs that make a port's connections reconnect when it changes, and what only changes its limits. The filter of
 * a mitigation must not disconnect the players whom it protects, and neither must a limit that is set during a launch.
 */
function lastingPrograms(
  { filters, ...policy }: Policy,
  context: FilterContext,
  filtering: Filtering,
): Pick<TargetFilters, 'programs' | 'limits'> {
  const lasting = filters.filter(({ ref }) => !ref.startsWith(MITIGATION_REF));
  const nameOnly: AddChain = (kind, statements) => contentName(kind, statements.join('\n'));
  const verdicts = (some: readonly PolicyFilter[]): Map<string, string> =>
    new Map(
      filteredPorts({ ...policy, filters: some }, context.family, filtering).map((one) => {
        const protocol = protocolName(protocolNumber(one.transport, context.family));
        return [`${protocol} ${one.port}`, `goto ${portChain(one, context, nameOnly)}`];
      }),
    );
  const limits = verdicts(lasting);
  const isSet = lasting.some(({ settings }) => settings !== undefined);
  if (!isSet) return { programs: limits, limits };
  return { programs: verdicts(lasting.map(({ settings: _settings, ...one }) => one)), limits };
}

function unknownTypes({ filters }: Policy, { catalogue }: Filtering): string[] {
  const known = new Set(catalogue.map(({ type }) => type));
  return [...new Set(filters.map(({ type }) => type))].filter((type) => !known.has(type));
}

interface PortVerdict {
  readonly protocol: string;
  readonly port: number;
  readonly verdict: string;
}
/** The chain of each dispatch and port. */
type DispatchedPorts = ReadonlyMap<PortDispatch, ReadonlyMap<number, string>>;

function dispatchedPorts(
  filtered: readonly FilteredPort[],
  context: FilterContext,
  add: AddChain,
): DispatchedPorts {
  const dispatched = new Map<PortDispatch, Map<number, string>>();
  for (const one of filtered) {
    for (const [dispatch, chain] of portChains(one, context, add)) {
      const ports = dispatched.get(dispatch) ?? new Map<number, string>();
      dispatched.set(dispatch, ports.set(one.port, chain));
    }
  }
  return dispatched;
}

function filtersOfPrefix(
  verdicts: readonly PortVerdict[],
  dispatched: DispatchedPorts,
  add: AddChain,
): CompiledFilters {
  const entries = verdicts.map(
    ({ protocol, port, verdict }) => `${protocol} . ${port} : ${verdict}`,
  );
  const lookup = `meta l4proto . th dport vmap { ${entries.join(', ')} }`;
  const prefixChains = new Map(
    [...dispatched].map(([dispatch, ports]) => [dispatch, prefixPortChain(dispatch, ports, add)]),
  );
  return {
    accept: `goto ${add('filters_prefix', [lookup, 'accept'])}`,
    elements: [],
    target: { ...NONE, unknown: [], ports: portsOf(dispatched), prefixChains },
  };
}

function filtersOfAddress(
  cidr: Cidr,
  verdicts: readonly PortVerdict[],
  dispatched: DispatchedPorts,
): CompiledFilters {
  const { family } = cidr;
  const address = formatAddress(cidr);
  const elements: Element[] = verdicts.map(({ protocol, port, verdict }) => {
    return {
      map: dispatchMap('filter', family),
      key: `${address} . ${protocol} . ${port}`,
      verdict,
    };
  });
  for (const dispatch of PORT_DISPATCHES) {
    for (const [port, chain] of dispatched.get(dispatch) ?? []) {
      const map = dispatchMap(dispatch, family);
      elements.push({ map, key: `${address} . ${port}`, verdict: `goto ${chain}` });
    }
  }
  return {
    accept: 'goto filters',
    elements,
    target: { ...NONE, unknown: [], ports: portsOf(dispatched) },
  };
}

function portsOf(dispatched: DispatchedPorts): TargetFilters['ports'] {
  return new Map([...dispatched].map(([dispatch, of]) => [dispatch, new Set(of.keys())]));
}

const TRANSPORTS = ['tcp', 'udp'] as const;

interface KnownFilter extends Pick<PolicyFilter, 'ref' | 'safelist'> {
  readonly filter: Filter;
}

/** Sorted, so that equal filters render equal text. */
function filteredPorts(
  { filters }: Policy,
  family: Family,
  { catalogue }: Filtering,
): FilteredPort[] {
  const byPort = new Map<number, KnownFilter[]>();
  for (const { type, port, ref, safelist, settings } of filters) {
    const filter = catalogue.find((one) => one.type === type);
    // The edge is older than control. The rules of the policy still apply.
    if (filter === undefined) continue;
    if (!(port >= 0 && port <= 65_535)) {
      throw new PolicyError(`${ref} names a port that there is not`);
    }
    const known = { ref, safelist, filter: withSettings(filter, settings) };
    byPort.set(port, [...(byPort.get(port) ?? []), known]);
  }
  const ports = [...byPort].toSorted(([a], [b]) => a - b);
  return TRANSPORTS.flatMap((transport) =>
    ports.map(([port, known]): FilteredPort => {
      const ofTransport = known.filter(({ filter }) => filter[transport] !== null);
      const programs = bySource(ofTransport, family, (some) =>
        combineFilters(
          some.map(({ filter }) => filter),
          transport,
        ),
      );
      return { port, transport, programs };
    }),
  ).filter(({ programs }) => [...valuesOf(programs)].some((program) => program !== null));
}
