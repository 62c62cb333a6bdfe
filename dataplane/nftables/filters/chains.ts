import type { FilterProgram } from '@portcullis/core/filters/program.ts';
import type { AddChain } from '../chain.ts';
import type { FilteredPort, FilterPlace } from './place.ts';
import { dropFor, sourceRate, stateSet } from './state.ts';
import { IP, type PortDispatch } from '../names.ts';
import { chainBySource, mapBySource, valuesOf } from './safe-sources.ts';
import { synProxyChains } from './syn-proxy.ts';
import { signatureMatches } from './signature.ts';

/** The chain that judges packets to a port: accept, or a drop with its reason. */
export function judgingChain(
  { programs }: FilteredPort,
  place: FilterPlace,
  add: AddChain,
): string {
  const chains = mapBySource(programs, (program) =>
    program === null ? null : filterChain(program, place, add),
  );
  return chainBySource(chains, { family: place.family, address: 'saddr', add });
}

/** With this program, whoever sends. */
function filterChain(program: FilterProgram, place: FilterPlace, add: AddChain): string {
  const statements =
    program.transport === 'udp'
      ? udpStatements(program, place, add)
      : tcpStatements(program, place);
  return add(`filters${place.family}`, statements);
}

/** The chains of other hooks that the port has use for. */
export function portChains(
  { port, programs }: FilteredPort,
  place: FilterPlace,
  add: AddChain,
): [PortDispatch, string][] {
  const chains = mapBySource(
    programs,
    (program) => new Map(program === null ? [] : chainsOf(port, program, place, add)),
  );
  const dispatches = new Set([...valuesOf(chains)].flatMap((one) => [...one.keys()]));
  return [...dispatches].map((dispatch) => {
    const ofDispatch = mapBySource(chains, (one) => one.get(dispatch) ?? null);
    // What a server sends goes to the source that the filters are or are not there for.
    const address = dispatch === 'learn' ? 'daddr' : 'saddr';
    return [dispatch, chainBySource(ofDispatch, { family: place.family, address, add })];
  });
}

function chainsOf(
  port: number,
  program: FilterProgram,
  place: FilterPlace,
  add: AddChain,
): [PortDispatch, string][] {
  // All of them need both directions.
  if (place.sees === 'inbound') return [];
  if (program.transport === 'udp') return [['learn', learnChain(program, place, add)]];
  return program.synProxy ? synProxyChains(program, place.serverAt(port), place, add) : [];
}

/** Learns from what the server sends. */
function learnChain(program: FilterProgram, { family }: FilterPlace, add: AddChain): string {
  const ip = IP[family];
  const key = `${ip} daddr . th dport . ${ip} saddr . th sport`;
  // `add` leaves what is there as it is: only traffic of the validated source renews it.
  const learn = `add @${stateSet('validated', family)} { ${key} timeout ${program.validatedSeconds}s }`;
  const replies = program.replies.map((reply) => `${signatureMatches(reply)} ${learn}`);
  return add(`learn${family}`, program.replies.length === 0 ? [learn] : replies);
}

function udpStatements(program: FilterProgram, place: FilterPlace, add: AddChain): string[] {
  const { family, sees } = place;
  const ip = IP[family];
  const tooMany = sourceRate('validated_rate', program.validatedPps, family);
  const limited = `${tooMany} ${dropFor('validated-rate')}`;
  // Nobody is ever validated where replies go another way: what is left is a rate for everybody.
  if (sees === 'inbound') return [limited, 'accept'];

  const tuple = `${ip} saddr . th sport . ${ip} daddr . th dport`;
  const validated = stateSet('validated', family);
  const renew = `update @${validated} { ${tuple} timeout ${program.validatedSeconds}s }`;
  const known = add(`validated${family}`, [limited, renew, 'accept']);
  const first = `${tuple} @${validated} goto ${known}`;
  const unknown = unvalidatedStatements(program, place);
  if (program.greetings.length === 0) return [first, ...unknown];
  const greeted = add(`greeted${family}`, unknown);
  return [
    first,
    ...program.greetings.map((greeting) => `${signatureMatches(greeting)} goto ${greeted}`),
    dropFor('no-greeting'),
  ];
}

/**
 * The rate of a source first, so that one source alone cannot use the budget up. Its meter does not match when
 * forged sources have filled it; the budget, which knows only server ports, holds then.
 */
function unvalidatedStatements(program: FilterProgram, { family, prefix }: FilterPlace): string[] {
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

/** Behind a SYN proxy only a source that is there has a connection. New ones are limited where the proxy opens them. */
function tcpStatements(program: FilterProgram, { family, sees }: FilterPlace): string[] {
  const tooMany = sourceRate('validated_rate', program.validatedPps, family);
  const limited = `${tooMany} ${dropFor('validated-rate')}`;
  return [sees === 'both' ? `ct state established ${limited}` : limited, 'accept'];
}
