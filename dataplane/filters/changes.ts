import type { Family } from '@portcullis/core/net/address.ts';
import { type Cidr, containsAddress } from '@portcullis/core/net/cidr.ts';
import type { CompiledTarget } from '../nftables/policy/compiled.ts';
import { isSingle } from '../compile/match.ts';
import { protocolNumber } from '../nftables/names.ts';

/** A port whose filters are others than before: applied, changed, or gone. */
export interface ChangedPort {
  readonly cidr: Cidr;
  readonly protocol: 'tcp' | 'udp';
  readonly port: number;
  /** Whose connections cannot stay: everybody's, or only of those who came through the SYN proxy that is gone. */
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

/**
 * Ports without a SYN proxy any more. One that came against an attack disconnected nobody; when it goes, nobody
 * translates any more for whoever came through it. Whoever was there before, or is on a safelist, did not.
 */
function endedProxies(
  old: CompiledTarget | undefined,
  now: CompiledTarget | undefined,
): Set<string> {
  const before = [...(old?.filters.ports.get('synproxy') ?? [])];
  const after = now?.filters.ports.get('synproxy');
  return new Set(before.filter((port) => after?.has(port) !== true).map((port) => `tcp ${port}`));
}

/** The port of them that this is; null: none. */
export type PortIndex = (
  protocol: number,
  port: number,
  /** Worked out only where the port is one of those. */
  address: () => bigint,
  family: Family,
) => ChangedPort | null;

/** Asked once for every connection of the host. */
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
