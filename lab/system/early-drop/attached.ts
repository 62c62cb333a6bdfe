import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import {
  closeDescriptor,
  countPrograms,
  detachLink,
  getPinned,
} from '@portcullis/dataplane/kernel/bpf/bpf.ts';
import { pinsFolder } from '@portcullis/dataplane/xdp/devices/pins.ts';
import { EDGE_DEVICE } from '../../stack/internet.ts';
import type { Namespace } from '../../stack/netns.ts';
import type { Stack } from '../../stack/stack.ts';

/** The mode as the kernel reports it. Null if the device has none of our programs or does not exist. */
export function attachedMode(edge: Namespace, device = EDGE_DEVICE): 'native' | 'tc' | null {
  const links = JSON.parse(edge.run('ip', '-json', 'link', 'show')) as readonly {
    readonly ifname: string;
    readonly ifindex: number;
    readonly xdp?: { readonly mode: number };
  }[];
  const link = links.find(({ ifname }) => ifname === device);
  if (link === undefined) return null;
  if (link.xdp?.mode === NATIVE) return 'native';
  return edge.within(() => countPrograms(link.ifindex, 'tcxIngress')) > 0 ? 'tc' : null;
}

/** XDP_ATTACHED_DRV */
const NATIVE = 1;

/** The bpffs folder in which the edge of a stack pins its programs. */
export function pinsOf({ dataDir }: Stack): string {
  return pinsFolder(join(dataDir, 'edge'), { PORTCULLIS_BPFFS: join(dataDir, '..', 'bpffs') });
}

/** Detaches the programs as another privileged process would: pins stay, links are dead. */
export function detachAll(stack: Stack): void {
  const folder = pinsOf(stack);
  for (const name of readdirSync(folder).filter((one) => /^(?:xdp|egress)-/.test(one))) {
    const link = getPinned(join(folder, name));
    assert.ok(link !== null);
    detachLink(link);
    closeDescriptor(link);
  }
}
