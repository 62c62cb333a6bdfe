import type { Packet } from '@portcullis/core/firewall/packet.ts';
import { type Family, formatAddress, parseAddress } from '@portcullis/core/net/address.ts';
import { networkOf } from '@portcullis/core/net/cidr.ts';
import type { Layout } from '../nftables/table/layout.ts';
import { evaluateFilter, type FilterFacts, isFrom } from './filter-interpreter.ts';
import { dispatchMap, protocolName } from '../nftables/names.ts';

/**
 * Evaluates packets by the maps and chains of a layout, from the rendered statements. It knows only the statements
 * that we render and fails on others.
 */
export function interpret(
  layout: Layout,
  facts: FilterFacts | null = null,
): (packet: Packet) => 'pass' | 'drop' {
  const maps = new Map<string, Map<string, string>>();
  for (const { elements } of layout.targets.values()) {
    for (const { map, key, verdict } of elements) {
      const entries = maps.get(map) ?? new Map<string, string>();
      if (entries.has(key)) throw new Error(`${map} has ${key} twice`);
      maps.set(map, entries.set(key, verdict));
    }
  }
  return (packet) => {
    const verdict =
      maps.get(dispatchMap('address', packet.family))?.get(keyOf(packet, false, null)) ??
      prefixVerdict(layout, packet) ??
      'accept';
    return resolve({ layout, maps, packet, facts }, verdict);
  };
}

type Maps = ReadonlyMap<string, ReadonlyMap<string, string>>;

interface Evaluation {
  readonly layout: Layout;
  readonly maps: Maps;
  readonly packet: Packet;
  readonly facts: FilterFacts | null;
}

function resolve(evaluation: Evaluation, verdict: string): 'pass' | 'drop' {
  const { layout, maps, packet } = evaluation;
  if (verdict === 'accept') return 'pass';
  // Counting chains drop at their end.
  if (/^goto (?:dropped|filtered)_/.test(verdict)) return 'drop';
  if (verdict === 'goto filters') {
    const key = packet.destinationPort === null ? '' : keyOf(packet, true, packet.destinationPort);
    return resolve(
      evaluation,
      maps.get(dispatchMap('filter', packet.family))?.get(key) ?? 'accept',
    );
  }
  const chain = layout.chains.get(verdict.replace('goto ', ''));
  if (chain === undefined) throw new Error(`no chain for ${verdict}`);
  for (const statement of chain.statements) {
    const found = evaluate(evaluation, statement);
    if (found !== null) return resolve(evaluation, found);
  }
  throw new Error('a chain of ours ends without a verdict');
}

function evaluate({ layout, maps, packet, facts }: Evaluation, statement: string): string | null {
  const filtered = facts === null ? undefined : evaluateFilter(statement, packet, facts);
  if (filtered !== undefined) return filtered;
  if (/^goto \S+$/.test(statement)) return statement;
  const unnamed = /^@nh,96,16 & 0xfff8 != @(sources[46]) (.*)$/.exec(statement);
  if (unnamed !== null) {
    const [, set = '', outcome = ''] = unnamed;
    const { family, value } = parsed(packet.source);
    const field = Number((value >> (family === 4 ? 16n : 80n)) & 0xfff8n);
    return layout.references.sources.has(`${set} ${field}`) ? null : outcome;
  }
  const lookup = / vmap @(source[46]_(port|protocol|any)_(\d+)_\d+)$/.exec(statement);
  if (lookup !== null) {
    const [, map = '', fields, length] = lookup;
    if (fields === 'port' && packet.destinationPort === null) return null;
    const source = parsed(packet.source);
    const network = formatAddress(networkOf(source, Number(length)));
    const key = keyOf(packet, fields !== 'any', fields === 'port' ? packet.destinationPort : null);
    return maps.get(map)?.get(`${key} . ${network}`) ?? null;
  }
  const ofPort = /^(?:meta l4proto (\w+) )?\S+ daddr \. meta l4proto \. th dport vmap @(\w+)$/.exec(
    statement,
  );
  if (ofPort !== null) {
    const [, protocol = protocolName(packet.protocol), map = ''] = ofPort;
    if (packet.destinationPort === null || protocol !== protocolName(packet.protocol)) return null;
    return maps.get(map)?.get(keyOf(packet, true, packet.destinationPort)) ?? null;
  }
  const [, matches = '', outcome = ''] = /^(.*?) ?(accept|goto \S+)$/.exec(statement) ?? [];
  const words = matches.split(' ').filter(Boolean);
  while (words.length > 0) {
    const [first, second] = [words.shift(), words.shift()];
    const wanted = words.shift() ?? '';
    if (second === 'saddr' && wanted === '!=') {
      if (inSet(layout, words.shift() ?? '', packet)) return null;
    } else if (second === 'saddr' && wanted.startsWith('@')) {
      if (!inSet(layout, wanted, packet)) return null;
    } else if (second === 'saddr') {
      if (!isFrom(wanted, packet)) return null;
    } else if (`${first} ${second}` === 'meta l4proto') {
      if (wanted !== protocolName(packet.protocol)) return null;
    } else if (`${first} ${second}` === 'th dport') {
      if (wanted !== String(packet.destinationPort)) return null;
    } else throw new Error(`no such statement: ${statement}`);
  }
  return outcome;
}

function inSet(layout: Layout, reference: string, packet: Packet): boolean {
  const set = layout.sets.get(reference.slice(1));
  if (set === undefined) throw new Error(`no set ${reference}`);
  return set.networks.some((text) => isFrom(text, packet));
}

function prefixVerdict(layout: Layout, packet: Packet): string | undefined {
  const { value } = parsed(packet.destination);
  const hit = (layout.prefixes.get(dispatchMap('prefix', packet.family)) ?? []).filter(
    ({ range }) => {
      const [first = '', last = first] = range.split('-');
      return parsed(first).value <= value && value <= parsed(last).value;
    },
  );
  if (hit.length > 1) throw new Error('intervals overlap');
  return hit[0] === undefined ? undefined : `goto ${hit[0].chain}`;
}

function keyOf(packet: Packet, withProtocol: boolean, port: number | null): string {
  return [
    packet.destination,
    ...(withProtocol ? [protocolName(packet.protocol)] : []),
    ...(port === null ? [] : [String(port)]),
  ].join(' . ');
}

function parsed(text: string): { family: Family; value: bigint } {
  const address = parseAddress(text);
  if (!address.ok) throw new Error(address.reason);
  return address.value;
}
