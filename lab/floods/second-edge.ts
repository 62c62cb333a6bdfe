import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { linkOf } from '../bench/generator/traffic.ts';
import { mountBpffs, unmountBpffs } from '../kernel/bpffs.ts';
import { EDGE_DEVICE, type Internet } from '../stack/internet.ts';
import { type Namespace, Network } from '../stack/netns.ts';
import type { Stack } from '../stack/stack.ts';
import type { FloodPlan } from './schedule.ts';
import { spawnEdge } from './watched-edge.ts';

/** Where a flood leaves the client, and who takes it. */
export type WireTo = Pick<FloodPlan, 'device' | 'ifindex' | 'to'>;

/** The way to the edge of the stack. */
export function wireToFirst({ client, edge }: Internet): WireTo {
  const { ifindex } = linkOf(client, 'eth0');
  return { device: 'eth0', ifindex, to: linkOf(edge, EDGE_DEVICE).address };
}

/** An edge on another way from the client, of the fleet that a stack controls: `second` in its fleet file. */
export class SecondEdge {
  readonly wire: WireTo;
  readonly #network: Network;
  readonly #host: Namespace;
  readonly #folder = mkdtempSync(join(tmpdir(), 'pcl-edge2-'));
  readonly #linkPath: string;
  readonly #stack: Pick<Stack, 'command'>;
  #child: ChildProcess | null = null;

  constructor(label: string, { client }: Internet, stack: Pick<Stack, 'dataDir' | 'command'>) {
    this.#stack = stack;
    this.#network = new Network(label);
    this.#host = this.#network.create('edge');
    this.#network.join(client, { device: 'eth1', addresses: [] }, this.#host, {
      device: EDGE_DEVICE,
      addresses: ['192.0.2.65/26'],
    });
    client.run('ethtool', '-K', 'eth1', 'gro', 'on');
    this.#host.run('ethtool', '-K', EDGE_DEVICE, 'gro', 'on');
    this.#host.run('ip', 'route', 'add', 'blackhole', '203.0.113.0/24');
    mountBpffs(join(this.#folder, 'bpffs'));
    this.#linkPath = join(stack.dataDir, 'link', 'control.sock');
    const { ifindex } = linkOf(client, 'eth1');
    this.wire = { device: 'eth1', ifindex, to: linkOf(this.#host, EDGE_DEVICE).address };
  }

  async start(): Promise<void> {
    const [linkPath, folder] = [this.#linkPath, this.#folder];
    const output = await this.#stack.command('edges', 'enrol', 'second', '--json');
    const { data } = JSON.parse(output) as { data: { credential: string } };
    const { credential } = data;
    this.#child = spawnEdge(this.#host, { name: 'second', linkPath, folder, credential });
  }

  /** With SIGKILL; what it pinned and kept stays for the next start. */
  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = null;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  }

  async destroy(): Promise<void> {
    await this.kill();
    unmountBpffs(join(this.#folder, 'bpffs'));
    rmSync(this.#folder, { recursive: true, force: true });
    this.#network.destroy();
  }
}

/** Whether so many edges say that they count in the kernel. */
export async function edgesCount(stack: Stack, edges: number): Promise<boolean> {
  const { data } = JSON.parse(await stack.command('edges', 'list', '--json')) as {
    readonly data: readonly { readonly report: { readonly counters?: string } | null }[];
  };
  const counters = data.map(({ report }) => report?.counters);
  return counters.length === edges && counters.every((by) => by === 'xdp' || by === 'nftables');
}
