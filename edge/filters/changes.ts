import type { Cidr } from '@portcullis/core/net/cidr.ts';
import type { CompiledTarget } from '../nftables/compile.ts';

/** A port whose filters are others than before: applied, changed, or gone. */
export interface ChangedPort {
  readonly cidr: Cidr;
  readonly protocol: 'tcp' | 'udp';
  readonly port: number;
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
    const keys = new Set([...(programs.old?.keys() ?? []), ...(programs.now?.keys() ?? [])]);
    for (const key of keys) {
      const verdict = programs.now?.get(key);
      if (verdict === programs.old?.get(key)) continue;
      const [protocol = '', port = ''] = key.split(' ');
      changed.push({
        cidr,
        protocol: protocol === 'udp' ? 'udp' : 'tcp',
        port: Number(port),
      });
    }
  }
  return changed;
}
