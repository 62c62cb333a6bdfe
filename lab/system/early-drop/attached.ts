import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { closeDescriptor, detachLink, getPinned } from '@portcullis/dataplane/kernel/bpf/bpf.ts';
import { pinsFolder } from '@portcullis/dataplane/xdp/devices/pins.ts';
import { EDGE_DEVICE } from '../../stack/internet.ts';
import type { Namespace } from '../../stack/netns.ts';
import type { Stack } from '../../stack/stack.ts';

/** As the kernel reports it. Null if the device has no XDP program or does not exist. */
export function attachedMode(edge: Namespace, device = EDGE_DEVICE): 'native' | 'generic' | null {
  const links = JSON.parse(edge.run('ip', '-json', 'link', 'show')) as readonly {
    readonly ifname: string;
    readonly xdp?: { readonly mode: number };
  }[];
  const link = links.find(({ ifname }) => ifname === device);
  if (link?.xdp === undefined) return null;
  return link.xdp.mode === 1 ? 'native' : 'generic';
}

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
