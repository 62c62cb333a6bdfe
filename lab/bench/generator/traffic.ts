import { enableForwarding, type Namespace, Network, sysctl } from '../../stack/netns.ts';
import {
  closeDescriptor,
  createLink,
  type Descriptor,
  type XdpMode,
} from '@portcullis/dataplane/kernel/bpf/bpf.ts';
import { loadProgram } from '@portcullis/dataplane/kernel/bpf/bpf-program.ts';
import { Generator } from './generator-process.ts';
import type { Counted, Plan, Round } from './plan.ts';

/** Where the end of a wire receives. */
export const DEVICE = 'wan';
/** Where a target routes on. */
export const SINK = { device: 'sink', mac: '02:00:00:00:00:02' } as const;
/** The clients that answers are sent to. */
export const CLIENTS = { 4: '192.0.2.77', 6: '2001:db8:c::77' } as const;
/** The sender, as the next hop to them. */
const BACK = { 4: '198.51.98.2', 6: '2001:db8:ff::2' } as const;
const BEYOND = { 4: '198.51.99.2', 6: '2001:db8:fe::2' } as const;

export interface Target {
  readonly namespace: Namespace;
  /** Where what it routes on arrives, and answers come from; null for a target that has no answers. */
  readonly beyond: { readonly device: string; readonly ifindex: number } | null;
  /** The MAC address of its device to there. */
  readonly sink: string;
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
  #answering: Generator | null = null;
  readonly #drops: Descriptor[] = [];

  constructor(label: string) {
    this.#network = new Network(label);
    this.#sender = this.#network.create('sender');
    this.#drain = this.#network.create('drain');
  }

  /**
   * A target: without `xdp` the driver refuses it, as one that has none. `answers`: what it routes on arrives where
   * nothing is paid but XDP, and answers come from there (`answer`).
   */
  target({ xdp = true, answers = false } = {}): Target {
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
    this.#routeOn(namespace, index, answers);
    const { ifindex, address: from } = linkOf(this.#sender, device);
    const { ifindex: receiver, address: to } = linkOf(namespace, DEVICE);
    const beyond = answers ? this.#dropEarly(namespace, index, { ifindex, from }) : null;
    const { address: sink } = linkOf(namespace, SINK.device);
    return { namespace, device, ifindex, receiver, from, to, beyond, sink };
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

  /** Sends from beyond a target, as the servers there. */
  async answer(target: Target, plan: Omit<Plan, 'to' | 'from'>, packets: number): Promise<Counted> {
    if (target.beyond === null) throw new Error('nobody answers beyond this target');
    this.#answering ??= new Generator(this.#drain, { niceness: -20 });
    const { beyond, sink } = target;
    const round: Round = { ...beyond, plan: { ...plan, to: sink, from: SINK.mac }, packets };
    return this.#answering.send(round);
  }

  /** Packets that answers of a target brought back to the sender. */
  answered({ device }: Target): number {
    return Number(this.#sender.run('cat', `/sys/class/net/${device}/statistics/rx_packets`));
  }

  destroy(): void {
    for (const descriptor of this.#drops.splice(0)) closeDescriptor(descriptor);
    this.#generator?.stop();
    this.#answering?.stop();
    this.#network.destroy();
  }

  /** Drops packets that pass, in either direction, by XDP where it arrives. */
  #dropEarly(
    namespace: Namespace,
    index: number,
    sender: { readonly ifindex: number; readonly from: string },
  ): NonNullable<Target['beyond']> {
    const device = `drain${index}`;
    namespace.run('ethtool', '-K', SINK.device, 'gro', 'on');
    namespace.run('ethtool', '-K', DEVICE, 'rxvlan', 'off');
    this.#drain.run('ethtool', '-K', device, 'gro', 'on');
    const { ifindex } = linkOf(this.#drain, device);
    this.#drops.push(
      ...this.#drain.within(() => dropByXdp(ifindex)),
      ...this.#sender.within(() => dropByXdp(sender.ifindex)),
    );
    for (const family of [4, 6] as const) {
      const via = [BACK[family], 'dev', DEVICE];
      const to = ['lladdr', sender.from, 'nud', 'permanent'];
      namespace.run('ip', 'neighbour', 'add', BACK[family], 'dev', DEVICE, ...to);
      namespace.run('ip', `-${family}`, 'route', 'add', CLIENTS[family], 'via', ...via);
    }
    return { device, ifindex };
  }

  #routeOn(namespace: Namespace, index: number, answers: boolean): void {
    const drain = `drain${index}`;
    this.#network.join(
      namespace,
      { device: SINK.device, addresses: ['198.51.99.1/24', '2001:db8:fe::1/64'] },
      this.#drain,
      { device: drain, addresses: [] },
    );
    if (!answers) this.#drain.run('nft', dropAtIngress(drain));
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

/** `r0 = XDP_DROP; exit` */
const RETURN_DROP = Buffer.from([0xb7, 0, 0, 0, 1, 0, 0, 0, 0x95, 0, 0, 0, 0, 0, 0, 0]);

/** Drops all packets of a device of this namespace, until the descriptors are closed. */
export function dropByXdp(ifindex: number, mode: XdpMode = 'native'): Descriptor[] {
  const image = { type: 'xdp', instructions: RETURN_DROP, license: 'Apache-2.0' } as const;
  const program = loadProgram('raw_drop', image);
  return [program, createLink(program, ifindex, 'xdp', mode)];
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
