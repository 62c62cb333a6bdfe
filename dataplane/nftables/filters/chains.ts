import type { FilterProgram } from '@portcullis/core/filters/program.ts';
import type { AddChain } from '../chain.ts';
import type { FilteredPort, FilterContext } from './filter-context.ts';
import { dropFor, sourceRate, stateSet } from './state.ts';
import { IP, type PortDispatch } from '../names.ts';
import { chainBySource, mapBySource, valuesOf } from './safe-sources.ts';
import { synProxyChains } from './syn-proxy.ts';
import { signatureMatches } from './signature.ts';

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
      : tcpStatements(program, context);
  return add(`filters${context.family}`, statements);
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
  if (program.transport === 'udp') return [['learn', learnChain(program, context, add)]];
  return program.synProxy ? synProxyChains(program, context.serverAt(port), context, add) : [];
}

/** Validates clients from the packets of the server. */
function learnChain(program: FilterProgram, { family }: FilterContext, add: AddChain): string {
  const ip = IP[family];
  const key = `${ip} daddr . th dport . ${ip} saddr . th sport`;
  // `add` does not renew an existing element; only packets of the validated source do.
  const learn = `add @${stateSet('validated', family)} { ${key} timeout ${program.validatedSeconds}s }`;
  const replies = program.replies.map((reply) => `${signatureMatches(reply)} ${learn}`);
  return add(`learn${family}`, program.replies.length === 0 ? [learn] : replies);
}

function udpStatements(program: FilterProgram, context: FilterContext, add: AddChain): string[] {
  const { family, sees } = context;
  const ip = IP[family];
  const tooMany = sourceRate('validated_rate', program.validatedPps, family);
  const limited = `${tooMany} ${dropFor('validated-rate')}`;
  // Replies take another route, so no source is ever validated: one rate applies to all.
  if (sees === 'inbound') return [limited, 'accept'];

  const tuple = `${ip} saddr . th sport . ${ip} daddr . th dport`;
  const validated = stateSet('validated', family);
  const renew = `update @${validated} { ${tuple} timeout ${program.validatedSeconds}s }`;
  const known = add(`validated${family}`, [limited, renew, 'accept']);
  const first = `${tuple} @${validated} goto ${known}`;
  const unknown = unvalidatedStatements(program, context);
  if (program.greetings.length === 0) return [first, ...unknown];
  const greeted = add(`greeted${family}`, unknown);
  return [
    first,
    ...program.greetings.map((greeting) => `${signatureMatches(greeting)} goto ${greeted}`),
    dropFor('no-greeting'),
  ];
}

/**
 * Evaluates the rate of a source before the budget, so that one source cannot use up the budget. The meter does not
 * match when forged sources have filled it; then the budget still limits, because it is keyed by server port.
 */
function unvalidatedStatements(
  program: FilterProgram,
  { family, prefix }: FilterContext,
): string[] {
  const { budgetPps, unvalidatedPps } = program;
  if (budgetPps === 0) return [dropFor('budget')];
  const tooMany = sourceRate('unvalidated_rate', unvalidatedPps, family);
  const budget = stateSet(prefix ? 'budget_prefix' : 'budget', family);
  const within = `limit rate ${budgetPps}/second burst ${budgetPps} packets`;
  return [
    `${tooMany} ${dropFor('unvalidated-rate')}`,
    `update @${budget} { ${IP[family]} daddr . th dport ${within} } accept`,
    dropFor('budget'),
  ];
}

/**
 * Behind a SYN proxy only a genuine source has a connection. New connections are limited where the proxy opens them.
 */
function tcpStatements(program: FilterProgram, { family, sees }: FilterContext): string[] {
  const tooMany = sourceRate('validated_rate', program.validatedPps, family);
  const limited = `${tooMany} ${dropFor('validated-rate')}`;
  return [sees === 'both' ? `ct state established ${limited}` : limited, 'accept'];
}
