import type { Family } from '@portcullis/core/net/address.ts';
import { type Cidr, containsAddress } from '@portcullis/core/net/cidr.ts';
import type { CompiledTarget } from '../nftables/policy/compiled.ts';
import { isSingle } from '../compile/match.ts';
import { protocolNumber } from '../nftables/names.ts';

/** A port whose filters were added, changed or removed. */
export interface ChangedPort {
  readonly cidr: Cidr;
  readonly protocol: 'tcp' | 'udp';
  readonly port: number;
  /** The connections to reset: all, or those through a removed SYN proxy. */
  readonly whose: 'all' | 'proxied';
}

type Targets = ReadonlyMap<string, CompiledTarget>;

/** `names`: the targets that may differ. */
export function changedPorts(
  before: Targets,
  after: Targets,
  names: Iterable<string>,
): ChangedPort[] {
  const changed: ChangedPort[] = [];
  for (const name of names) {
    const [old, now] = [before.get(name), after.get(name)];
    const cidr = now?.cidr ?? old?.cidr;
    if (cidr === undefined) continue;
    const programs = { old: old?.filters.programs, now: now?.filters.programs };
    const gone = endedProxies(old, now);
    const keys = new Set([
      ...(programs.old?.keys() ?? []),
      ...(programs.now?.keys() ?? []),
      ...gone,
    ]);
    for (const key of keys) {
      const verdict = programs.now?.get(key);
      if (verdict === programs.old?.get(key) && !gone.has(key)) continue;
      const [protocol = '', port = ''] = key.split(' ');
      changed.push({
        cidr,
        protocol: protocol === 'udp' ? 'udp' : 'tcp',
        port: Number(port),
        whose: verdict === programs.old?.get(key) ? 'proxied' : 'all',
      });
    }
  }
  return changed;
}

/** Whether a limit of a port differs: the kernel keeps the old one with the state of every port and source that it knows. */
export function changesLimits(before: Targets, after: Targets, names: Iterable<string>): boolean {
  for (const name of names) {
    const now = after.get(name)?.filters.limits;
    for (const [port, verdict] of before.get(name)?.filters.limits ?? []) {
      const next = now?.get(port);
      if (next !== undefined && next !== verdict) return true;
    }
  }
  return false;
}

/**
 * Ports whose SYN proxy was removed. A proxy of a mitigation reset no connections when it was added. After its removal,
 * nothing translates the connections opened through it. Older connections, and those of a safelist, did not use it.
 */
function endedProxies(
  old: CompiledTarget | undefined,
  now: CompiledTarget | undefined,
): Set<string> {
  const before = [...(old?.filters.ports.get('synproxy') ?? [])];
  const after = now?.filters.ports.get('synproxy');
  return new Set(before.filter((port) => after?.has(port) !== true).map((port) => `tcp ${port}`));
}

/** Finds the port of an address among the changed ports; null if it did not change. */
export type PortIndex = (
  protocol: number,
  port: number,
  /** Called only if the port number matches. */
  address: () => bigint,
  family: Family,
) => ChangedPort | null;

/** Indexes the ports, because it is looked up for every connection of the host. */
export function portIndex(ports: readonly ChangedPort[]): PortIndex {
  const key = (protocol: number, port: number, family: Family): string =>
    `${family} ${protocol} ${port}`;
  const addresses = new Map<string, Map<bigint, ChangedPort>>();
  const prefixes = new Map<string, ChangedPort[]>();
  for (const one of ports) {
    const { cidr, protocol, port } = one;
    const at = key(protocolNumber(protocol), port, cidr.family);
    if (isSingle(cidr)) {
      addresses.set(at, (addresses.get(at) ?? new Map<bigint, ChangedPort>()).set(cidr.value, one));
    } else prefixes.set(at, [...(prefixes.get(at) ?? []), one]);
  }
  return (protocol, port, address, family) => {
    const at = key(protocol, port, family);
    const [single, around] = [addresses.get(at), prefixes.get(at)];
    if (single === undefined && around === undefined) return null;
    const value = address();
    const prefix = around?.find(({ cidr }) => containsAddress(cidr, { family, value }));
    return single?.get(value) ?? prefix ?? null;
  };
}
