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
const PATIENCE_MS = 20_000;

/** The networks behind the edge, by the device that leads there. */
const INNER = {
  lan: { 4: '198.51.99', 6: '2001:db8:fe::' },
  lan2: { 4: '198.51.100', 6: '2001:db8:ff::' },
} as const;
export type Inner = keyof typeof INNER;

/** A client, an edge, and a server behind it that can be reached by two devices. */
export class ForwardingWire {
  readonly client: Namespace;
  readonly edge: Namespace;
  readonly behind: Namespace;
  readonly #network = new Network('forward');
  readonly #frames: string[] = [];
  readonly #stops: (() => void)[] = [];

  constructor() {
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

  /** Neighbours never change by themselves from now on. */
  setNeighbour(device: Inner, mac: string): void {
    const to = ['dev', device, 'lladdr', mac, 'nud', 'permanent'];
    for (const family of FAMILIES)
      this.edge.run('ip', 'neighbour', 'replace', hostOf(device, 2)[family], ...to);
  }

  linkOf(namespace: Namespace, device: string): { readonly ifindex: number; readonly mac: string } {
    const [link] = JSON.parse(namespace.run('ip', '-j', 'link', 'show', 'dev', device)) as [
      { readonly ifindex: number; readonly address: string },
    ];
    return { ifindex: link.ifindex, mac: link.address };
  }

  /** Captures what arrives behind the edge. */
  async listen(): Promise<void> {
    for (const device of ['lan', 'lan2']) {
      const script = join(import.meta.dirname, 'receive.py');
      const child = this.behind.spawn(['python3', script, device], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      this.#stops.push(() => void child.kill());
      if (child.stdout === null) throw new Error('no output is captured');
      const lines = createInterface({ input: child.stdout });
      const ready = once(lines, 'line');
      lines.on('line', (line) => this.#frames.push(line));
      await ready;
    }
    this.#frames.length = 0;
  }

  /** Sends frames to the edge. Returns those that arrived behind it, sorted. */
  async exchange(frames: readonly Buffer[]): Promise<string[]> {
    this.#frames.length = 0;
    this.#send(frames);
    // What is forwarded by XDP leaves when the edge has handled all that came together.
    await this.#settled();
    await this.#settled();
    return this.#frames.filter((frame) => frame.includes(MARKED)).toSorted();
  }

  destroy(): void {
    for (const stop of this.#stops.splice(0)) stop();
    this.#network.destroy();
  }

  #send(frames: readonly Buffer[]): void {
    const input = Buffer.concat(
      frames.flatMap((frame) => {
        const length = Buffer.alloc(2);
        length.writeUInt16BE(frame.length);
        return [length, frame];
      }),
    );
    const script = join(import.meta.dirname, 'send.py');
    const [program, ...args] = this.client.command('python3', script, 'eth');
    execFileSync(program, args, { input, stdio: ['pipe', 'ignore', 'inherit'] });
  }

  async #settled(): Promise<void> {
    const deadlineMs = performance.now() + PATIENCE_MS;
    const { mac } = this.linkOf(this.edge, 'wan');
    const last = datagram({
      family: 4,
      to: mac,
      from: LAST_MAC,
      payload: Buffer.from(LAST, 'hex'),
    });
    const isHere = (): boolean => this.#frames.some((frame) => frame.includes(LAST));
    const forget = (): void => {
      for (const [index, frame] of this.#frames.entries())
        if (frame.includes(LAST)) this.#frames[index] = '';
    };
    while (!isHere()) {
      if (performance.now() > deadlineMs) throw new Error('nothing arrives behind the edge');
      this.#send([last]);
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
}

export const SERVER_PORT = 27_015;
export const CLIENT_PORT = 40_000;
const UDP = 17;

/** The Ethernet frame of a datagram from the client to the server, with its checksums. */
export function datagram(one: Datagram): Buffer {
  const { family, to, from = '02:00:00:00:00:01', padding = 0 } = one;
  const macs = Buffer.from(`${to}${from}`.replaceAll(':', ''), 'hex');
  const type = Buffer.from(family === 4 ? [0x08, 0] : [0x86, 0xdd]);
  const upper = udp(one);
  const ip = family === 4 ? ipv4(one, upper.length) : ipv6(one, upper.length);
  return Buffer.concat([macs, type, ip, upper, Buffer.alloc(padding)]);
}

/** A frame of an answer of the server, without checksums. */
export function answerTo(family: Family): Buffer {
  const macs = Buffer.from('020000000001020000000002', 'hex');
  const upper = Buffer.alloc(12);
  upper.writeUInt16BE(SERVER_PORT, 0);
  upper.writeUInt16BE(CLIENT_PORT, 2);
  upper.writeUInt16BE(upper.length, 4);
  const plain = { family, to: '', payload: Buffer.alloc(0) };
  const ip = family === 4 ? ipv4(plain, upper.length) : ipv6(plain, upper.length);
  const [source, destination] = family === 4 ? [12, 16] : [8, 24];
  bytesOf(SERVER[family]).copy(ip, source);
  bytesOf(CLIENT[family]).copy(ip, destination);
  const type = Buffer.from(family === 4 ? [0x08, 0] : [0x86, 0xdd]);
  return Buffer.concat([macs, type, ip, upper]);
}

function udp({
  family,
  payload,
  clientPort = CLIENT_PORT,
  checksum = 'right',
  longer = 0,
}: Datagram) {
  const bytes = Buffer.concat([Buffer.alloc(8), payload]);
  bytes.writeUInt16BE(clientPort, 0);
  bytes.writeUInt16BE(SERVER_PORT, 2);
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
  bytesOf(CLIENT[4]).copy(header, 12);
  bytesOf(SERVER[4]).copy(header, 16);
  const sum = checksumOf([header]);
  header.writeUInt16BE(one.headerChecksum === 'wrong' ? sum ^ 0x55 : sum, 10);
  return header;
}

function ipv6({ hopLimit = 64, service = 0, flowLabel = 0 }: Datagram, length: number): Buffer {
  const header = Buffer.alloc(40);
  header.writeUInt32BE((0x60 << 24) + (service << 20) + flowLabel, 0);
  header.writeUInt16BE(length, 4);
  header[6] = UDP;
  header[7] = hopLimit;
  bytesOf(CLIENT[6]).copy(header, 8);
  bytesOf(SERVER[6]).copy(header, 24);
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
