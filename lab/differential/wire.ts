import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { addAddress, enableForwarding, type Namespace, Network, sysctl } from '../netns.ts';
import { framesOf, macOf, type Numbered } from './frames.ts';

/** What the edge host itself holds. */
export const LOCAL = { 4: '198.51.100.1', 6: '2001:db8:e::1' } as const;
/** Whatever the edge passes to these ends there, without an answer. */
const PROTECTED = ['203.0.0.0/8', '2001:db8:5::/48'];
/** The block that arbitraries draw sources from. */
const SOURCES = ['10.77.0.0/16', 'fd77::/16'];
const SEND_TRIES = 4;
const END_OF_ROUND = 0xffff_ffff;

/**
 * Packets that came before our hook and those that came past it, by their number. Same priority range as
 * ours: conntrack and reassembly are done, no DNAT and no routing yet.
 */
const OBSERVER = `table inet observer {
  set arrived { type ether_addr; size 200000; flags dynamic; }
  set passed { type ether_addr; size 200000; flags dynamic; }
  chain before { type filter hook prerouting priority -160; iifname "wan" add @arrived { ether saddr }; }
  chain after { type filter hook prerouting priority -140; iifname "wan" add @passed { ether saddr }; }
}
`;

/** A client, an edge and what is behind it; frames go in at the client, verdicts are read at the edge. */
export class JudgedWire {
  readonly edge: Namespace;
  readonly #network = new Network('diff');
  readonly #client: Namespace;
  readonly #behind: Namespace;

  constructor() {
    this.#client = this.#network.create('client');
    this.edge = this.#network.create('edge');
    this.#behind = this.#network.create('behind');
    try {
      this.#build();
    } catch (error) {
      this.destroy();
      throw error;
    }
  }

  #build(): void {
    this.#network.join(this.#client, wire('eth'), this.edge, wire('wan'));
    this.#network.join(this.#behind, wire('eth'), this.edge, wire('lan'));
    enableForwarding(this.edge);
    for (const device of ['all', 'wan', 'lan'])
      sysctl(this.edge, `net.ipv4.conf.${device}.rp_filter`, 0);
    // Checksums of upper layers are not what is tested; connections must be found without them.
    for (const address of Object.values(LOCAL)) addAddress(this.edge, 'lo', address);
    for (const network of PROTECTED) this.edge.run('ip', 'route', 'add', 'blackhole', network);
    for (const network of SOURCES) this.edge.run('ip', 'route', 'add', network, 'dev', 'wan');
    execFileSync('ip', ['netns', 'exec', this.edge.name, 'nft', '-f', '-'], { input: OBSERVER });
    sysctl(this.edge, 'net.netfilter.nf_conntrack_checksum', 0);
  }

  /** Numbers of the packets that our hook passed. Fails when some did not even reach it. */
  async judge(packets: readonly Numbered[]): Promise<ReadonlySet<number>> {
    for (const set of ['arrived', 'passed'])
      this.edge.run('nft', 'flush', 'set', 'inet', 'observer', set);
    let missing = packets;
    for (let tries = 0; missing.length > 0; tries++) {
      if (tries === SEND_TRIES) {
        throw new Error(
          `${missing.length} packets never arrived, such as ${JSON.stringify(missing[0])}`,
        );
      }
      this.#send(this.#client, 'wan', missing);
      await this.#settled();
      const arrived = this.#numbers('arrived');
      missing = missing.filter(({ id }) => !arrived.has(id));
    }
    return this.#numbers('passed');
  }

  /** Lets hosts behind the edge speak first: these leave by it, and conntrack knows their connections. */
  openFromBehind(packets: readonly Numbered[]): void {
    this.#send(this.#behind, 'lan', packets);
  }

  /** Somebody else on the edge host follows connections. */
  trackConnections(): void {
    const chain = 'type filter hook forward priority 0';
    this.edge.run('nft', `table inet somebody { chain forward { ${chain}; ct state invalid; }; }`);
  }

  destroy(): void {
    this.#network.destroy();
  }

  #send(from: Namespace, into: string, packets: readonly Numbered[]): void {
    const to = this.edge.run('cat', `/sys/class/net/${into}/address`).trim();
    const input = packets.flatMap((packet) =>
      framesOf(packet, to).flatMap((frame) => {
        const length = Buffer.alloc(2);
        length.writeUInt16BE(frame.length);
        return [length, frame];
      }),
    );
    const [program, ...args] = from.command('python3', join(import.meta.dirname, 'send.py'), 'eth');
    execFileSync(program, args, { input: Buffer.concat(input) });
  }

  /** Frames keep their order: once the last one is counted, all are. */
  async #settled(): Promise<void> {
    const last = { ...LAST, id: END_OF_ROUND };
    for (let tries = 0; tries < 50; tries++) {
      this.#send(this.#client, 'wan', [last]);
      if (this.#list('arrived').includes(macOf(END_OF_ROUND))) return;
    }
    throw new Error('the edge does not receive what is sent');
  }

  #numbers(set: 'arrived' | 'passed'): Set<number> {
    const macs = this.#list(set).match(/02:00:[0-9a-f:]{11}/g) ?? [];
    return new Set(macs.map((mac) => Number.parseInt(mac.slice(6).replaceAll(':', ''), 16)));
  }

  #list(set: string): string {
    const [program, ...args] = this.edge.command('nft', 'list', 'set', 'inet', 'observer', set);
    return execFileSync(program, args, { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
  }
}

const LAST: Omit<Numbered, 'id'> = {
  cut: false,
  packet: {
    family: 4,
    source: '10.77.0.1',
    destination: '203.255.255.1',
    protocol: 253,
    sourcePort: null,
    destinationPort: null,
    icmp: null,
    hopLimit: 64,
    fragment: 'none',
  },
};

function wire(device: string): { device: string; addresses: string[] } {
  return { device, addresses: [] };
}
