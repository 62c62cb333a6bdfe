import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type Family, parseAddress } from '@portcullis/core/net/address.ts';
import { addressBytes } from '@portcullis/dataplane/xdp/maps/layout.ts';
import { enableForwarding, type Namespace, Network, sysctl } from '../stack/netns.ts';

/** The protected server, its clients, and the next hops. */
export const SERVER = { 4: '203.0.113.10', 6: '2001:db8:5::10' } as const;
export const CLIENT = { 4: '198.51.97.2', 6: '2001:db8:fd::2' } as const;
const OUTER = { 4: '198.51.97.1', 6: '2001:db8:fd::1' } as const;
const LENGTH = { 4: 24, 6: 64 } as const;
const FAMILIES = [4, 6] as const satisfies readonly Family[];
/** In the payload of the frame that is sent last. */
const LAST = 'feedfeedfeedfeed';
const LAST_MAC = '02:00:00:00:00:fe';
const PATIENCE_MS = 60_000;

/** The networks behind the edge, by the device that leads there. */
const INNER = {
  lan: { 4: '198.51.99', 6: '2001:db8:fe::' },
  lan2: { 4: '198.51.100', 6: '2001:db8:ff::' },
} as const;
export type Inner = keyof typeof INNER;
/** To the server, or from it. */
type Way = 'in' | 'out';

/** A client, an edge, and a server behind it that can be reached by two devices. */
export class ForwardingWire {
  readonly client: Namespace;
  readonly edge: Namespace;
  readonly behind: Namespace;
  readonly #network: Network;
  /** The frames that arrived behind the edge, and those at the client. */
  readonly #frames: Readonly<Record<Way, string[]>> = { in: [], out: [] };
  readonly #stops: (() => void)[] = [];

  constructor(label = 'forward') {
    this.#network = new Network(label);
    this.client = this.#network.create('client');
    this.edge = this.#network.create('edge');
    this.behind = this.#network.create('behind');
    const both = (of: Readonly<Record<Family, string>>): string[] =>
      FAMILIES.map((family) => `${of[family]}/${LENGTH[family]}`);
    const outer = { device: 'wan', addresses: both(OUTER) };
    this.#network.join(this.client, { device: 'eth', addresses: both(CLIENT) }, this.edge, outer);
    for (const device of ['lan', 'lan2'] as const) {
      const far = { device, addresses: both(hostOf(device, 2)) };
      this.#network.join(this.behind, far, this.edge, {
        device,
        addresses: both(hostOf(device, 1)),
      });
      this.behind.run('ethtool', '-K', device, 'gro', 'on');
    }
    for (const device of ['wan', 'lan', 'lan2'])
      this.edge.run('ethtool', '-K', device, 'gro', 'on');
    this.client.run('ethtool', '-K', 'eth', 'gro', 'on');
    // The early drop must see tags.
    this.edge.run('ethtool', '-K', 'wan', 'rxvlan', 'off');
    enableForwarding(this.edge);
    for (const family of FAMILIES) {
      const own = `${SERVER[family]}/${family === 4 ? 32 : 128}`;
      this.behind.run('ip', 'address', 'add', own, 'dev', 'lo', ...(family === 6 ? ['nodad'] : []));
      this.behind.run(
        'ip',
        `-${family}`,
        'route',
        'add',
        'default',
        'via',
        hostOf('lan', 1)[family],
      );
      this.client.run('ip', `-${family}`, 'route', 'add', 'default', 'via', OUTER[family]);
    }
    for (const name of ['all', 'default'])
      sysctl(this.behind, `net.ipv4.conf.${name}.rp_filter`, 0);
    this.routeBy('lan');
  }

  /** Packets to the server leave the edge by this device. */
  routeBy(device: Inner): void {
    for (const family of FAMILIES)
      this.edge.run(
        'ip',
        `-${family}`,
        'route',
        'replace',
        SERVER[family],
        'via',
        hostOf(device, 2)[family],
      );
  }

  /** Neighbours never change by themselves from now on. `wan`: the client. */
  setNeighbour(device: Inner | 'wan', mac: string): void {
    const to = ['dev', device, 'lladdr', mac, 'nud', 'permanent'];
    const neighbour = device === 'wan' ? CLIENT : hostOf(device, 2);
    for (const family of FAMILIES)
      this.edge.run('ip', 'neighbour', 'replace', neighbour[family], ...to);
  }

  linkOf(namespace: Namespace, device: string): { readonly ifindex: number; readonly mac: string } {
    const [link] = JSON.parse(namespace.run('ip', '-j', 'link', 'show', 'dev', device)) as [
      { readonly ifindex: number; readonly address: string },
    ];
    return { ifindex: link.ifindex, mac: link.address };
  }

  /** Captures what arrives behind the edge, and at the client. */
  async listen(): Promise<void> {
    await this.#capture(this.behind, 'lan', 'in');
    await this.#capture(this.behind, 'lan2', 'in');
    await this.#capture(this.client, 'eth', 'out');
  }

  /**
   * Sends frames to the edge: from the client, or answers from behind it by a device. Returns those that arrived on the
   * other side, sorted.
   */
  async exchange(frames: readonly Buffer[], from: Inner | null = null): Promise<string[]> {
    const arrived = this.#frames[from === null ? 'in' : 'out'];
    arrived.length = 0;
    this.send(frames, from);
    // What is forwarded by XDP leaves when the edge has handled all that came together.
    await this.#settled(from);
    await this.#settled(from);
    return arrived.filter((frame) => frame.includes(MARKED)).toSorted();
  }

  destroy(): void {
    for (const stop of this.#stops.splice(0)) stop();
    this.#network.destroy();
  }

  async #capture(namespace: Namespace, device: string, way: Way): Promise<void> {
    const script = join(import.meta.dirname, 'receive.py');
    const child = namespace.spawn(['python3', script, device], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.#stops.push(() => void child.kill());
    if (child.stdout === null) throw new Error('no output is captured');
    const lines = createInterface({ input: child.stdout });
    const ready = once(lines, 'line');
    lines.on('line', (line) => this.#frames[way].push(line));
    await ready;
    this.#frames[way].length = 0;
  }

  /** Sends frames to the edge, as `exchange`. */
  send(frames: readonly Buffer[], from: Inner | null): void {
    const input = Buffer.concat(
      frames.flatMap((frame) => {
        const length = Buffer.alloc(2);
        length.writeUInt16BE(frame.length);
        return [length, frame];
      }),
    );
    const script = join(import.meta.dirname, 'send.py');
    const [program, ...args] = (from === null ? this.client : this.behind).command(
      'python3',
      script,
      from ?? 'eth',
    );
    execFileSync(program, args, { input, stdio: ['pipe', 'ignore', 'inherit'] });
  }

  async #settled(from: Inner | null): Promise<void> {
    const deadlineMs = performance.now() + PATIENCE_MS;
    const arrived = this.#frames[from === null ? 'in' : 'out'];
    const { mac } = this.linkOf(this.edge, from ?? 'wan');
    const last = datagram({
      family: 4,
      to: mac,
      from: LAST_MAC,
      payload: Buffer.from(LAST, 'hex'),
      isAnswer: from !== null,
    });
    const isHere = (): boolean => arrived.some((frame) => frame.includes(LAST));
    const forget = (): void => {
      for (const [index, frame] of arrived.entries()) if (frame.includes(LAST)) arrived[index] = '';
    };
    while (!isHere()) {
      if (performance.now() > deadlineMs) throw new Error('nothing arrives behind the edge');
      this.send([last], from);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    forget();
  }
}

/** In the payload of every frame that counts. */
export const MARKED = 'c0ffee5eed';

export interface Datagram {
  readonly family: Family;
  readonly to: string;
  readonly from?: string;
  readonly payload: Buffer;
  readonly clientPort?: number;
  readonly hopLimit?: number;
  /** TOS of IPv4, the traffic class of IPv6. */
  readonly service?: number;
  readonly flowLabel?: number;
  readonly options?: Buffer;
  /** Flags and offset of IPv4. */
  readonly fragment?: number;
  readonly checksum?: 'right' | 'wrong' | 'none';
  readonly headerChecksum?: 'right' | 'wrong';
  readonly padding?: number;
  /** Added to the length that the header of UDP claims. */
  readonly longer?: number;
  /** The number of a tag; 0 is a priority without a VLAN. */
  readonly vlan?: number;
  /** IPv6: options for the destination before the datagram. */
  readonly hasOptions?: boolean;
  /** From the server to the client. */
  readonly isAnswer?: boolean;
}

export const SERVER_PORT = 27_015;
export const CLIENT_PORT = 40_000;
const UDP = 17;

/** The Ethernet frame of a datagram between the client and the server, with its checksums. */
export function datagram(one: Datagram): Buffer {
  const { family, to, from = '02:00:00:00:00:01', padding = 0 } = one;
  const macs = Buffer.from(`${to}${from}`.replaceAll(':', ''), 'hex');
  const type = Buffer.from(family === 4 ? [0x08, 0] : [0x86, 0xdd]);
  const upper = one.hasOptions === true ? Buffer.concat([NO_OPTIONS, udp(one)]) : udp(one);
  const ip = family === 4 ? ipv4(one, upper.length) : ipv6(one, upper.length);
  const tag = one.vlan === undefined ? [] : [0x81, 0, one.vlan >> 8, one.vlan & 255];
  return Buffer.concat([macs, Buffer.from(tag), type, ip, upper, Buffer.alloc(padding)]);
}

/** The header of options, with padding alone. */
const NO_OPTIONS = Buffer.from([UDP, 0, 1, 4, 0, 0, 0, 0]);
const DESTINATION_OPTIONS = 60;

function udp({
  family,
  payload,
  clientPort = CLIENT_PORT,
  checksum = 'right',
  longer = 0,
  isAnswer = false,
}: Datagram) {
  const bytes = Buffer.concat([Buffer.alloc(8), payload]);
  bytes.writeUInt16BE(clientPort, isAnswer ? 2 : 0);
  bytes.writeUInt16BE(SERVER_PORT, isAnswer ? 0 : 2);
  bytes.writeUInt16BE(bytes.length + longer, 4);
  if (checksum === 'none') return bytes;
  const pseudo = Buffer.from([0, UDP, bytes.length >> 8, bytes.length & 255]);
  const sum = checksumOf([bytesOf(CLIENT[family]), bytesOf(SERVER[family]), pseudo, bytes]);
  bytes.writeUInt16BE((checksum === 'right' ? sum : sum ^ 0x55) || 0xffff, 6);
  return bytes;
}

function ipv4(one: Datagram, length: number): Buffer {
  const { hopLimit = 64, service = 0, options = Buffer.alloc(0), fragment = 0 } = one;
  const header = Buffer.concat([Buffer.alloc(20), options]);
  header[0] = 0x40 | (header.length / 4);
  header[1] = service;
  header.writeUInt16BE(header.length + length, 2);
  header.writeUInt16BE(0x1234, 4);
  header.writeUInt16BE(fragment, 6);
  header[8] = hopLimit;
  header[9] = UDP;
  bytesOf(CLIENT[4]).copy(header, one.isAnswer === true ? 16 : 12);
  bytesOf(SERVER[4]).copy(header, one.isAnswer === true ? 12 : 16);
  const sum = checksumOf([header]);
  header.writeUInt16BE(one.headerChecksum === 'wrong' ? sum ^ 0x55 : sum, 10);
  return header;
}

function ipv6(one: Datagram, length: number): Buffer {
  const { hopLimit = 64, service = 0, flowLabel = 0, isAnswer = false } = one;
  const header = Buffer.alloc(40);
  header.writeUInt32BE((0x60 << 24) + (service << 20) + flowLabel, 0);
  header.writeUInt16BE(length, 4);
  header[6] = one.hasOptions === true ? DESTINATION_OPTIONS : UDP;
  header[7] = hopLimit;
  bytesOf(CLIENT[6]).copy(header, isAnswer ? 24 : 8);
  bytesOf(SERVER[6]).copy(header, isAnswer ? 8 : 24);
  return header;
}

function bytesOf(text: string): Buffer {
  const address = parseAddress(text);
  if (!address.ok) throw new Error(address.reason);
  return addressBytes(address.value);
}

function checksumOf(parts: readonly Buffer[]): number {
  let sum = 0;
  for (const part of parts)
    for (const [at, byte] of part.entries()) sum += at % 2 === 0 ? byte << 8 : byte;
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return ~sum & 0xffff;
}

function hostOf(device: Inner, host: number): Readonly<Record<Family, string>> {
  return { 4: `${INNER[device][4]}.${host}`, 6: `${INNER[device][6]}${host}` };
}
