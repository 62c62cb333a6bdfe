import { enableForwarding, type Namespace, Network, sysctl } from '../../stack/netns.ts';
import { Generator } from './generator-process.ts';
import type { Counted, Plan, Round } from './plan.ts';

/** Where the end of a wire receives. */
export const DEVICE = 'wan';
const SINK = { device: 'sink', mac: '02:00:00:00:00:02' } as const;
const BEYOND = { 4: '198.51.99.2', 6: '2001:db8:fe::2' } as const;

export interface Target {
  readonly namespace: Namespace;
  /** The sender's end of its wire. */
  readonly device: string;
  readonly ifindex: number;
  /** The index of the end that receives, in its namespace. */
  readonly receiver: number;
  readonly from: string;
  readonly to: string;
}

/**
 * One namespace that sends and any number that receive, each at the end of a wire of its own and loaded with what
 * is compared, so that rounds of all can take turns. What a target lets pass it routes to one namespace more, which
 * drops it as it comes.
 *
 * Generator and receiver share one core, as an interrupt and the packets it brings do: the time of a packet is that
 * of making it, of the wire, and of judging it.
 */
export class Range {
  readonly #network: Network;
  readonly #sender: Namespace;
  readonly #drain: Namespace;
  #targets = 0;
  #generator: Generator | null = null;

  constructor(label: string) {
    this.#network = new Network(label);
    this.#sender = this.#network.create('sender');
    this.#drain = this.#network.create('drain');
  }

  /** A target: without `xdp` the driver refuses it, as one that has none. */
  target({ xdp = true } = {}): Target {
    const index = this.#targets++;
    const namespace = this.#network.create(`target${index}`);
    const device = `wire${index}`;
    this.#network.join(this.#sender, { device, addresses: [] }, namespace, {
      device: DEVICE,
      addresses: [`198.51.98.1/24`, `2001:db8:ff::1/64`],
    });
    // Without it a veth hands packets to the stack one by one, and takes none from XDP.
    for (const [at, name] of [[this.#sender, device] as const, [namespace, DEVICE] as const])
      at.run('ethtool', '-K', name, 'gro', 'on');
    // A veth refuses XDP where it receives by fewer queues than its peer sends by.
    if (!xdp) {
      namespace.run('ethtool', '-L', DEVICE, 'rx', '1');
      this.#sender.run('ethtool', '-L', device, 'tx', '2');
    }
    this.#routeOn(namespace, index);
    const { ifindex, address: from } = linkOf(this.#sender, device);
    const { ifindex: receiver, address: to } = linkOf(namespace, DEVICE);
    return { namespace, device, ifindex, receiver, from, to };
  }

  async send(
    target: Target,
    plan: Omit<Plan, 'to' | 'from'>,
    packets: number,
  ): Promise<Counted & { readonly passed: number }> {
    this.#generator ??= new Generator(this.#sender, { niceness: -20 });
    const { device, ifindex, to, from } = target;
    const round: Round = { device, ifindex, plan: { ...plan, to, from }, packets };
    const before = passedBy(target);
    const counted = await this.#generator.send(round);
    return { ...counted, passed: passedBy(target) - before };
  }

  destroy(): void {
    this.#generator?.stop();
    this.#network.destroy();
  }

  #routeOn(namespace: Namespace, index: number): void {
    const drain = `drain${index}`;
    this.#network.join(
      namespace,
      { device: SINK.device, addresses: ['198.51.99.1/24', '2001:db8:fe::1/64'] },
      this.#drain,
      { device: drain, addresses: [] },
    );
    this.#drain.run('nft', dropAtIngress(drain));
    for (const name of ['all', 'default', DEVICE])
      sysctl(namespace, `net.ipv4.conf.${name}.rp_filter`, 0);
    enableForwarding(namespace);
    for (const [family, via] of Object.entries(BEYOND)) {
      const dev = ['dev', SINK.device];
      namespace.run('ip', 'neighbour', 'add', via, 'lladdr', SINK.mac, ...dev, 'nud', 'permanent');
      namespace.run('ip', `-${family}`, 'route', 'add', 'default', 'via', via, ...dev);
    }
  }
}

/** The least that nftables can do: what everything is measured beside. */
export function dropAtIngress(device: string): string {
  const hook = `type filter hook ingress device "${device}" priority 0; policy drop;`;
  return `table netdev bare_${device} {\n chain ingress {\n ${hook}\n }\n}`;
}

/** Packets that were routed on. */
function passedBy({ namespace }: Target): number {
  const [, sent] =
    namespace.run('cat', `/sys/class/net/${SINK.device}/statistics/tx_packets`).match(/(\d+)/) ??
    [];
  return Number(sent);
}

export function linkOf(namespace: Namespace, device: string): { ifindex: number; address: string } {
  const [link] = JSON.parse(namespace.run('ip', '-j', 'link', 'show', 'dev', device)) as [
    { ifindex: number; address: string },
  ];
  return link;
}
