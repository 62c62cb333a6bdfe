import type { Roaming, Signature } from '@portcullis/core/filters/filter.ts';
import { FILTER_PASSES } from '@portcullis/core/filters/reasons.ts';
import type { FilterProgram, TcpProgram, UdpProgram } from '@portcullis/core/filters/program.ts';
import type { Family } from '@portcullis/core/net/address.ts';
import type { AddChain } from '../chain.ts';
import type { FilteredPort, FilterContext } from './filter-context.ts';
import { ACCEPT_GREETED, count, dropFor, sourceRate, stateSet } from './state.ts';
import { IP, type PortDispatch } from '../names.ts';
import { chainBySource, mapBySource, valuesOf } from './safe-sources.ts';
import { synProxyChains } from './syn-proxy.ts';
import { HAS_PAYLOAD, openingMatches, signatureMatches, UDP_HEADER_BYTES } from './signature.ts';

/** The chain that evaluates packets to a port: it accepts, or drops with a reason. */
export function portChain(
  { programs }: FilteredPort,
  context: FilterContext,
  add: AddChain,
): string {
  const chains = mapBySource(programs, (program) =>
    program === null ? null : filterChain(program, context, add),
  );
  return chainBySource(chains, { family: context.family, address: 'saddr', add });
}

/** The chain of one program, for all sources. */
function filterChain(program: FilterProgram, context: FilterContext, add: AddChain): string {
  const statements =
    program.transport === 'udp'
      ? udpStatements(program, context, add)
      : tcpStatements(program, context, add);
  return add(`filters${context.family}`, [...packetStatements(program), ...statements]);
}

/** The limits that apply to every source come first, because they cost no look-up of the source. */
function packetStatements({ transport, packets }: FilterProgram): string[] {
  const { lengths, sourcePorts } = packets;
  const statements: string[] = [];
  if (transport === 'udp' && lengths !== null) {
    const possible = lengths.min <= lengths.max;
    const range = `${UDP_HEADER_BYTES + lengths.min}-${UDP_HEADER_BYTES + lengths.max}`;
    statements.push(`${possible ? `udp length != ${range} ` : ''}${dropFor('packet-length')}`);
  }
  if (sourcePorts !== null) {
    const ranges = sourcePorts.map(({ low, high }) => `${low}-${high}`);
    const others = ranges.length === 0 ? '' : `th sport != { ${ranges.join(', ')} } `;
    statements.push(`${others}${dropFor('source-port')}`);
  }
  return statements;
}

/** The chains of the port in other hooks. */
export function portChains(
  { port, programs }: FilteredPort,
  context: FilterContext,
  add: AddChain,
): [PortDispatch, string][] {
  const chains = mapBySource(
    programs,
    (program) => new Map(program === null ? [] : chainsOf(port, program, context, add)),
  );
  const dispatches = new Set([...valuesOf(chains)].flatMap((one) => [...one.keys()]));
  return [...dispatches].map((dispatch) => {
    const ofDispatch = mapBySource(chains, (one) => one.get(dispatch) ?? null);
    // The source of a request is the destination of its reply.
    const address = dispatch === 'learn' ? 'daddr' : 'saddr';
    return [dispatch, chainBySource(ofDispatch, { family: context.family, address, add })];
  });
}

function chainsOf(
  port: number,
  program: FilterProgram,
  context: FilterContext,
  add: AddChain,
): [PortDispatch, string][] {
  // Each of them needs both directions of the traffic.
  if (context.sees === 'inbound') return [];
  if (program.transport === 'udp') {
    return program.replies === null
      ? []
      : [['learn', learnChain(program, program.replies, context, add)]];
  }
  return program.synProxy ? synProxyChains(program, context.serverAt(port), context, add) : [];
}

/** Validates clients from the packets of the server. A flow that has roamed has its own replies. */
function learnChain(
  { validatedSeconds, roaming }: UdpProgram,
  replies: readonly Signature[],
  { family }: FilterContext,
  add: AddChain,
): string {
  const ip = IP[family];
  const key = `${ip} daddr . th dport . ${ip} saddr . th sport`;
  // `add` does not renew an existing element; only packets of the validated source do.
  const validated = stateSet('validated', family);
  const learn = [
    `add @${validated} { ${key} timeout ${validatedSeconds}s }`,
    count(FILTER_PASSES.validated, family, ['saddr', 'sport']),
  ].join(' ');
  const learned = (): string => add(`learned${family}`, [learn]);
  const positive = (some: readonly Signature[]): string[] =>
    some.length === 0 ? [learn] : some.map((one) => `${signatureMatches(one)} goto ${learned()}`);
  const roamed = marked(roaming).map(
    ([{ replies: ofKind }, mark]) =>
      `ct mark & ${mark} != 0 goto ${add(`roamed${family}`, positive(ofKind))}`,
  );
  return add(`learn${family}`, [`${key} @${validated} return`, ...roamed, ...positive(replies)]);
}

/** The kinds of roaming packets, the strictest first, each with the bit of a connection's mark that says it was sent. */
function marked(roaming: Roaming | null): [Roaming['kinds'][number], string][] {
  const kinds = roaming?.kinds ?? [];
  return kinds
    .map((kind, index): [typeof kind, string] => [kind, ROAMED_MARKS[index as 0 | 1]])
    .toReversed();
}

function udpStatements(program: UdpProgram, context: FilterContext, add: AddChain): string[] {
  const { family, sees } = context;
  // Replies take another route, so no source is ever validated: one rate applies to all.
  if (sees === 'inbound') return [...validatedRate(program.rates, family), 'accept'];
  const unknown = unvalidatedStatements(program, context);
  if (program.greetings.length === 0)
    return [...knownSources(program, [], family, add), ...unknown];
  const greeted = add(`greeted${family}`, unknown);
  const greetings = program.greetings.map((one) => `${signatureMatches(one)} goto ${greeted}`);
  return [
    ...knownSources(program, greetings, family, add),
    ...greetings,
    ...roamingStatements(program.roaming, context, add),
    dropFor('no-greeting'),
  ];
}

/**
 * Sends the packets of validated sources to a separate chain. Their greetings keep the limits of unvalidated sources.
 * Otherwise an attacker that replays a handshake from forged addresses could flood with greetings.
 */
function knownSources(
  { replies, data, rates, validatedSeconds }: UdpProgram,
  greetings: readonly string[],
  family: Family,
  add: AddChain,
): string[] {
  if (replies === null) return [];
  const ip = IP[family];
  const tuple = `${ip} saddr . th sport . ${ip} daddr . th dport`;
  const validated = stateSet('validated', family);
  const renew = [`update @${validated} { ${tuple} timeout ${validatedSeconds}s }`, 'accept'];
  const limited = validatedRate(rates, family);
  const evaluated = (): string[] => {
    if (data.length === 0) return [...greetings, ...renew];
    // Data first: nearly every packet is.
    const passed = add(`renewed${family}`, renew);
    const fitting = data.map((one) => `${signatureMatches(one)} goto ${passed}`);
    return [...fitting, ...greetings, dropFor('no-data')];
  };
  const known = add(`validated${family}`, [...limited, ...evaluated()]);
  return [`${tuple} @${validated} goto ${known}`];
}

function validatedRate(
  { validatedPps }: Pick<UdpProgram['rates'], 'validatedPps'>,
  family: Family,
) {
  return [`${sourceRate('validated_rate', validatedPps, family)} ${dropFor('validated-rate')}`];
}

/**
 * Evaluates the rate of a source before the budget, so that one source cannot use up the budget. The meter does not
 * match when forged sources have filled it; then the budget still limits, because it is keyed by server port.
 */
function unvalidatedStatements(
  { budgetPps, rates }: UdpProgram,
  { family, prefix }: FilterContext,
): string[] {
  const budget = stateSet(prefix ? 'budget_prefix' : 'budget', family);
  const tooMany = sourceRate('unvalidated_rate', rates.unvalidatedPps, family);
  return limitedStatements(tooMany, budget, budgetPps, ACCEPT_GREETED, family);
}

/** The same for packets that roam, of each kind, with limits of their own. The strictest kind that fits is marked. */
function roamingStatements(
  roaming: Roaming | null,
  { family, prefix }: FilterContext,
  add: AddChain,
): string[] {
  if (roaming === null) return [];
  const { sourcePps, budgetPps } = roaming.rates;
  const budget = stateSet(prefix ? 'roaming_budget_prefix' : 'roaming_budget', family);
  const tooMany = sourceRate('roaming_rate', sourcePps, family);
  return marked(roaming).flatMap(([{ packets }, mark]) => {
    const accept = `ct mark set ct mark | ${mark} ${ACCEPT_GREETED}`;
    const limited = limitedStatements(tooMany, budget, budgetPps, accept, family);
    const chain = add(`roams${family}`, limited);
    return packets.map((one) => `${signatureMatches(one)} goto ${chain}`);
  });
}

function limitedStatements(
  tooMany: string,
  budget: string,
  budgetPps: number,
  accept: string,
  family: Family,
): string[] {
  if (budgetPps === 0) return [dropFor('budget')];
  const within = `limit rate ${budgetPps}/second burst ${budgetPps} packets`;
  return [
    `${tooMany} ${dropFor('unvalidated-rate')}`,
    `update @${budget} { ${IP[family]} daddr . th dport ${within} } ${accept}`,
    dropFor('budget'),
  ];
}

/**
 * The bit of a connection's mark that says that it began with an opening. A mark rather than a set, which a botnet could
 * fill with connections; a bit of its own, so that marks of the host's own rules stay.
 */
export const OPENED_MARK = '0x40000000';
/** The bits that say that a flow of UDP has sent a packet of the first or the second kind that roams. */
const ROAMED_MARKS = ['0x40000000', '0x20000000'] as const;

/**
 * Behind a SYN proxy only a genuine source has a connection. New connections are limited where the proxy opens them.
 */
function tcpStatements(program: TcpProgram, context: FilterContext, add: AddChain): string[] {
  const { family, sees } = context;
  const limited = validatedRate(program, family);
  if (sees === 'inbound') return [...limited, 'accept'];
  if (program.openings.length === 0) return [`ct state established ${limited.join(' ')}`, 'accept'];
  const established = [...limited, openingStatement(program, family, add), 'accept'];
  return [`ct state established goto ${add(`established${family}`, established)}`, 'accept'];
}

/** The first payload is evaluated, again when it is repeated, and what follows it is not. */
function openingStatement({ openings }: TcpProgram, family: Family, add: AddChain): string {
  const mark = `ct mark set ct mark | ${OPENED_MARK} accept`;
  const evaluated = [
    ...openings.map((one) => `${openingMatches(one)} ${mark}`),
    dropFor('no-opening'),
  ];
  const first = add(`opening${family}`, evaluated);
  return `ct mark & ${OPENED_MARK} == 0 ${HAS_PAYLOAD} goto ${first}`;
}
