import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { endianness } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { PROTOCOL_NUMBERS } from '@portcullis/core/firewall/match.ts';
import type { Packet } from '@portcullis/core/firewall/packet.ts';
import { addAddress, enableForwarding, type Namespace, Network, sysctl } from '../stack/netns.ts';
import { closeDescriptor, type Descriptor } from '@portcullis/dataplane/kernel/bpf/bpf.ts';
import { OPENED_MARK } from '@portcullis/dataplane/nftables/filters/chains.ts';
import { framesOf, macOf, type Numbered, PAYLOAD, PLAIN } from './frames.ts';
import { standInForVlans, VLANS } from './vlans.ts';

/** Addresses that the edge host itself holds. */
export const LOCAL = { 4: '198.51.100.1', 6: '2001:db8:e::1' } as const;
export const JUDGED_DEVICES: readonly string[] = ['wan', `wan.${VLANS.judged}`];
const DEVICES = [...JUDGED_DEVICES, `wan.${VLANS.untouched}`];
/** Whatever the edge passes to these leaves by `lan`, and nobody answers. */
const PROTECTED = ['203.0.0.0/8', '2001:db8:5::/48'];
/** The block that arbitraries draw sources from. */
const SOURCES = ['10.77.0.0/16', 'fd77::/16'];
const SEND_TRIES = 4;
const END_OF_ROUND = 0xffff_ffff;
const SLOWLY_SECONDS = '0.1';

/** The mark of connections that the kernel was informed of. */
const MARK = 7;
/** The same of those that began as their filter asks. */
const MARK_OPENED = MARK | Number(OPENED_MARK);

/** Whom the last packets are for. */
const NOBODY = '203.255.255.1';

/** Connections as the kernel writes them in a set: client and its port, server and its port. */
const TUPLE = {
  4: 'ip daddr . tcp dport . ip saddr . tcp sport',
  6: 'ip6 daddr . tcp dport . ip6 saddr . tcp sport',
} as const;
const REVERSED = {
  4: 'ip saddr . tcp sport . ip daddr . tcp dport',
  6: 'ip6 saddr . tcp sport . ip6 daddr . tcp dport',
} as const;
const FAMILIES = [4, 6] as const;

/**
 * Packets that came before our hooks and those that came past them, by their number: no DNAT and no routing yet. What
 * is whole may be judged before reassembly; a datagram in parts came when it was put together. Those that the host or
 * the server behind it would get, which ends their way: nobody answers, and no connection comes of it. What the edge
 * says in a server's place: its answers to SYNs, with their cookies, and its own SYNs to servers.
 */
const ENTERED = `iifname { ${DEVICES.map((device) => `"${device}"`).join(', ')} }`;
const OBSERVER = `table inet observer {
  set arrived { type ether_addr; size 200000; flags dynamic; }
  set passed { type ether_addr; size 200000; flags dynamic; }
  set delivered { type ether_addr; size 200000; flags dynamic; }
  set last { type ether_addr; size 16; flags dynamic; }
  ${FAMILIES.map(
    (family) => `
  set answered${family} { typeof ${TUPLE[family]} . meta mark; size 65536; flags dynamic; }
  set opened${family} { typeof ${REVERSED[family]}; size 65536; flags dynamic; }`,
  ).join('')}
  chain whole {
    type filter hook prerouting priority -460;
    ${ENTERED} ip frag-off & 0x3fff == 0 add @arrived { ether saddr };
    ${ENTERED} meta nfproto ipv6 exthdr frag missing add @arrived { ether saddr };
  }
  chain before {
    type filter hook prerouting priority -390;
    ${ENTERED} ip daddr ${NOBODY} add @last { ether saddr } accept;
    ${ENTERED} add @arrived { ether saddr };
  }
  chain after { type filter hook prerouting priority -140; ${ENTERED} add @passed { ether saddr }; }
  chain here { type filter hook input priority 50; ${ENTERED} add @delivered { ether saddr } drop; }
  chain through { type filter hook forward priority 50; ${ENTERED} add @delivered { ether saddr } drop; }
  chain said {
    type filter hook output priority 50;
    ${FAMILIES.map(
      (family) => `
    tcp flags & (syn|ack) == (syn|ack) meta mark set tcp sequence add @answered${family} { ${TUPLE[family]} . meta mark };
    tcp flags & (syn|ack) == syn add @opened${family} { ${REVERSED[family]} };`,
    ).join('')}
  }
}
`;

export interface Judged {
  /** Numbers of packets that our hook passed. */
  readonly passed: ReadonlySet<number>;
  /** Numbers of packets that came to where they were sent: to the host, or on their way to the server. */
  readonly delivered: ReadonlySet<number>;
  /** Packets that did not reach our hook: dropped before it, or lost on the way. */
  readonly vanished: ReadonlySet<Numbered>;
}

/** A client, an edge and what is behind it; frames go in at the client, verdicts are read at the edge. */
export class JudgedWire {
  readonly edge: Namespace;
  readonly #network = new Network('diff');
  readonly #client: Namespace;
  readonly #behind: Namespace;
  #vlans: Descriptor | null = null;
  readonly #macs: Record<string, string> = {};

  constructor() {
    this.#client = this.#network.create('client');
    this.edge = this.#network.create('edge');
    this.#behind = this.#network.create('behind');
    try {
      this.#build();
      this.#makeVlans();
    } catch (error) {
      this.destroy();
      throw error;
    }
  }

  #makeVlans(): void {
    const mac = this.edge.run('cat', '/sys/class/net/wan/address').trim();
    const vlans = Object.values(VLANS).map((vlan) => {
      const [device, peer] = [`wan.${vlan}`, `vlan${vlan}`];
      const pair = ['type', 'veth', 'peer', 'name', peer];
      this.edge.run('ip', 'link', 'add', device, 'address', mac, ...pair);
      for (const end of [device, peer]) this.edge.run('ip', 'link', 'set', end, 'up');
      return { vlan, device };
    });
    this.#vlans = standInForVlans(this.edge, 'wan', vlans);
  }

  #build(): void {
    this.#network.join(this.#client, wire('eth'), this.edge, wire('wan'));
    this.#network.join(this.#behind, wire('eth'), this.edge, wire('lan'));
    enableForwarding(this.edge);
    // Looks at checksums of TCP as nearly every card does: see `mayBeUnheard` in edge.ts.
    this.edge.run('ethtool', '-K', 'wan', 'gro', 'on');
    this.#client.run('ethtool', '-K', 'eth', 'tso', 'off', 'gso', 'off');
    // What is sent leaves, though nobody answers for its address.
    for (const device of ['wan', 'lan']) this.edge.run('ip', 'link', 'set', device, 'arp', 'off');
    for (const device of ['default', 'all', 'wan', 'lan'])
      sysctl(this.edge, `net.ipv4.conf.${device}.rp_filter`, 0);
    // Checksums of upper layers are not what is tested; connections must be found without them.
    for (const address of Object.values(LOCAL)) addAddress(this.edge, 'lo', address);
    for (const network of PROTECTED) this.edge.run('ip', 'route', 'add', network, 'dev', 'lan');
    for (const network of SOURCES) this.edge.run('ip', 'route', 'add', network, 'dev', 'wan');
    execFileSync('ip', ['netns', 'exec', this.edge.name, 'nft', '-f', '-'], { input: OBSERVER });
    sysctl(this.edge, 'net.netfilter.nf_conntrack_checksum', 0);
    // As an agent does where a SYN proxy is used: an ACK begins no connection.
    sysctl(this.edge, 'net.netfilter.nf_conntrack_tcp_loose', 0);
  }

  /**
   * Packets that our hook passed. Fails when some did not even reach it, except those that may be dropped before it
   * (`mayVanish`).
   */
  async judge(
    packets: readonly Numbered[],
    mayVanish: (numbered: Numbered) => boolean = () => false,
  ): Promise<Judged> {
    this.#forget();
    let missing = packets;
    for (let tries = 0; tries < SEND_TRIES; tries++) {
      await this.#send(this.#client, 'wan', [...missing, ...LAST]);
      await this.#settled();
      const arrived = this.#numbers('arrived');
      const vanished = packets.filter(({ id }) => !arrived.has(id));
      missing = vanished.filter((numbered) => !mayVanish(numbered));
      if (missing.length === 0) return this.#judged(vanished);
    }
    throw new Error(
      `${missing.length} packets never arrived, such as ${JSON.stringify(missing[0])}`,
    );
  }

  /**
   * Like `judge`, running `change` meanwhile: a third of the packets has arrived when it begins, and a third is sent
   * when it has ended.
   */
  async judgeDuring(packets: readonly Numbered[], change: () => Promise<unknown>): Promise<Judged> {
    this.#forget();
    const third = Math.ceil(packets.length / 3);
    await this.#send(this.#client, 'wan', [...packets.slice(0, third), ...LAST]);
    await this.#settled();
    await this.#send(this.#client, 'wan', packets.slice(third, 2 * third), change);
    this.edge.run('nft', 'flush', 'set', 'inet', 'observer', 'last');
    await this.#send(this.#client, 'wan', [...packets.slice(2 * third), ...LAST]);
    await this.#settled();
    const arrived = this.#numbers('arrived');
    return this.#judged(packets.filter(({ id }) => !arrived.has(id)));
  }

  #judged(vanished: readonly Numbered[]): Judged {
    const [passed, delivered] = [this.#numbers('passed'), this.#numbers('delivered')];
    return { passed, delivered, vanished: new Set(vanished) };
  }

  /** Answers that the edge has given in the place of a server since the last `judge`: the cookie, by connection. */
  answered(): Map<string, number> {
    const lines = this.#tuples('answered').map(
      (fields) => [fields.slice(0, 4), fields[4]] as const,
    );
    return new Map(lines.map(([tuple, mark]) => [tuple.join(' '), sequenceOf(Number(mark))]));
  }

  /** Connections that the edge has opened to servers since the last `judge`. */
  opened(): Set<string> {
    return new Set(this.#tuples('opened').map((fields) => fields.join(' ')));
  }

  /** Lets hosts behind the edge speak first: these leave by it, and conntrack knows their connections. */
  async openFromBehind(packets: readonly Numbered[]): Promise<void> {
    await this.#send(this.#behind, 'lan', packets);
  }

  /** Somebody else on the edge host follows connections. */
  trackConnections(): void {
    const chain = 'type filter hook forward priority 0';
    this.edge.run('nft', `table inet somebody { chain forward { ${chain}; ct state invalid; }; }`);
  }

  /** Connection tracking knows these, and no others that it was informed of so. */
  establish(packets: readonly (Packet & { readonly opened: boolean })[]): void {
    const lines = packets.map(
      ({ protocol, source, destination, sourcePort, destinationPort, opened }) =>
        `-I ${protocol === PROTOCOL_NUMBERS.tcp ? '-p tcp --state ESTABLISHED' : '-p udp'} -t 600 -u SEEN_REPLY,ASSURED -m ${opened ? MARK_OPENED : MARK} -s ${source} -d ${destination} --sport ${sourcePort} --dport ${destinationPort}\n`,
    );
    // It stops at one that is there already, and opens what it reads anew, which no socket can be.
    const script = `{ conntrack -D -m ${MARK}; conntrack -D -m ${MARK_OPENED}; cat | conntrack --load-file -; } >/dev/null 2>&1`;
    const [program, ...args] = this.edge.command('sh', '-c', script);
    spawnSync(program, args, {
      input: [...new Set(lines)].join(''),
      stdio: ['pipe', 'ignore', 'ignore'],
    });
  }

  /** Also those that the edge has begun to open. */
  forgetConnections(): void {
    this.edge.run('conntrack', '-F');
  }

  destroy(): void {
    if (this.#vlans !== null) closeDescriptor(this.#vlans);
    this.#network.destroy();
  }

  #forget(): void {
    const said = FAMILIES.flatMap((family) => [`answered${family}`, `opened${family}`]);
    const sets = ['arrived', 'passed', 'delivered', 'last', ...said];
    this.edge.run('nft', sets.map((set) => `flush set inet observer ${set}`).join('; '));
  }

  /** With `meanwhile`, slowly, so that it happens between them. */
  async #send(
    from: Namespace,
    into: string,
    packets: readonly Numbered[],
    meanwhile: (() => Promise<unknown>) | null = null,
  ): Promise<void> {
    this.#macs[into] ??= this.edge.run('cat', `/sys/class/net/${into}/address`).trim();
    const to = this.#macs[into];
    const input = packets.flatMap((packet) =>
      framesOf(packet, to).flatMap((frame) => {
        const length = Buffer.alloc(2);
        length.writeUInt16BE(frame.length);
        return [length, frame];
      }),
    );
    const args = ['eth', ...(meanwhile === null ? [] : [SLOWLY_SECONDS])];
    const sender = from.spawn(['python3', join(import.meta.dirname, 'send.py'), ...args], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const ended = once(sender, 'exit');
    sender.stdin?.end(Buffer.concat(input));
    if (meanwhile !== null) {
      await Promise.race([once(sender.stdout as Readable, 'data'), ended]);
      await meanwhile();
    }
    const [code] = (await ended) as [number | null];
    if (code !== 0) throw new Error(`send.py ended with ${code}`);
  }

  /** Frames of a device keep their order: once the last one is counted, all are. */
  async #settled(): Promise<void> {
    for (let tries = 0; tries < 50; tries++) {
      const counted = this.#list('last');
      if (LAST.every(({ id }) => counted.includes(macOf(id)))) return;
      await this.#send(this.#client, 'wan', LAST);
    }
    throw new Error('the edge does not receive what is sent');
  }

  #tuples(set: 'answered' | 'opened'): string[][] {
    const listed = FAMILIES.map((family) => this.#list(`${set}${family}`)).join();
    const tuples = listed.match(/[0-9a-f.:]+(?: \. [0-9a-fx.:]+){3,4}/g) ?? [];
    return tuples.map((tuple) => tuple.split(' . '));
  }

  #numbers(set: 'arrived' | 'passed' | 'delivered'): Set<number> {
    const macs = this.#list(set).match(/02:00:[0-9a-f:]{11}/g) ?? [];
    return new Set(macs.map((mac) => Number.parseInt(mac.slice(6).replaceAll(':', ''), 16)));
  }

  #list(set: string): string {
    const [program, ...args] = this.edge.command('nft', 'list', 'set', 'inet', 'observer', set);
    return execFileSync(program, args, { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });
  }
}

/** A mark is shown as a number of this machine, and has the bytes of the segment. */
function sequenceOf(mark: number): number {
  return endianness() === 'BE' ? mark : Buffer.from(Uint32Array.of(mark).buffer).readUInt32BE(0);
}

/** One for each device. */
const LAST: readonly Numbered[] = [null, ...Object.values(VLANS)].map((vlan, index) => ({
  id: END_OF_ROUND - index,
  payload: PAYLOAD,
  form: { ...PLAIN, vlan },
  packet: {
    family: 4,
    source: '10.77.0.1',
    destination: NOBODY,
    protocol: 253,
    sourcePort: null,
    destinationPort: null,
    icmp: null,
    hopLimit: 64,
    fragment: 'none',
  },
}));

function wire(device: string): { device: string; addresses: string[] } {
  return { device, addresses: [] };
}
