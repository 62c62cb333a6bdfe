import { addressBytes, bytesOf, type Part } from '@portcullis/collector/testing/datagrams.ts';

/** Who sends a datagram to whom. */
export interface Datagram {
  readonly source: string;
  readonly destination: string;
  readonly port: number;
}

/** Ethernet frames that carry one UDP datagram in an unusual form; its payload is the name of the form. */
export interface PacketForm {
  readonly name: string;
  readonly frames: readonly Buffer[];
}

const UDP = 17;
const UDP_LITE = 136;
const MORE = 0x2000;
const ETHERTYPE = { 4: 0x0800, 6: 0x86dd } as const;
const SOURCE_PORT = 40_000;

/** IPv4 options, each a multiple of 4 bytes. */
const OPTIONS = {
  'record route': Buffer.from([7, 39, 4, ...Array<number>(36).fill(0), 0]),
  timestamp: Buffer.from([68, 12, 5, 0, ...Array<number>(8).fill(0)]),
  'router alert': Buffer.from([148, 4, 0, 0]),
} as const;

/** Forms of IPv4, and of IPv6. `to`: the MAC of the edge. */
export function packetForms(to: string, v4: Datagram, v6: Datagram): PacketForm[] {
  return [...formsOfIpv4(to, v4), ...formsOfIpv6(to, v6)];
}

/** A datagram as everybody sends it. */
export function plainForm(to: string, name: string, datagram: Datagram): PacketForm {
  const family = datagram.destination.includes(':') ? 6 : 4;
  const packet =
    family === 4 ? ipv4(datagram, udp(datagram, name)) : ipv6(datagram, UDP, udp(datagram, name));
  return { name, frames: [frame(to, [ETHERTYPE[family]], packet)] };
}

function formsOfIpv4(to: string, datagram: Datagram): PacketForm[] {
  const form = (name: string, make: (name: string) => readonly Buffer[], tags: number[] = []) => ({
    name,
    frames: make(name).map((packet) => frame(to, [...tags, ETHERTYPE[4]], packet)),
  });
  const whole = (name: string) => [ipv4(datagram, udp(datagram, name))];
  // The options of a loose source route name the way that it has still to go.
  const route = Buffer.from([131, 7, 4, ...addressBytes(datagram.destination), 0]);
  const options = { ...OPTIONS, 'loose source route': route };
  return [
    form('IPv4', whole),
    ...Object.entries(options).map(([name, bytes]) =>
      form(name, () => [ipv4(datagram, udp(datagram, name), { options: bytes })]),
    ),
    form('first fragment of 8 bytes', (name) => parts(datagram, udp(datagram, name), 8)),
    form('fragments, last first', (name) => parts(datagram, udp(datagram, name), 16).toReversed()),
    form('overlapping fragments', (name) => overlapping(datagram, udp(datagram, name))),
    form('VLAN 0', whole, [0x8100, 0]),
    form('VLAN 5', whole, [0x8100, 5]),
    form('two tags', whole, [0x8100, 5, 0x8100, 6]),
    form('802.1ad', whole, [0x88a8, 5]),
    form('IPv4 in IPv4', (name) => [
      ipv4(datagram, ipv4(datagram, udp(datagram, name)), { protocol: 4 }),
    ]),
    form('IPv6 in IPv4', (name) => {
      const inner = { ...datagram, source: '2001:db8:c::2', destination: '2001:db8:5::10' };
      return [ipv4(datagram, ipv6(inner, UDP, udp(inner, name)), { protocol: 41 })];
    }),
    form('UDP-Lite', (name) => [
      ipv4(datagram, udp(datagram, name, UDP_LITE), { protocol: UDP_LITE }),
    ]),
    ...(
      [
        ['from its own address', datagram.destination],
        ['from loopback', '127.0.0.1'],
      ] as const
    ).map(([name, source]) => {
      const forged = { ...datagram, source };
      return form(name, () => [ipv4(forged, udp(forged, name))]);
    }),
    form('bytes behind the packet', (name) => [Buffer.concat([...whole(name), Buffer.alloc(40)])]),
  ];
}

/** 8 bytes: padding, or a route that is used up. */
const EXTENSION = {
  'hop-by-hop': [0, [0, 1, 4, 0, 0, 0, 0]],
  destination: [60, [0, 1, 4, 0, 0, 0, 0]],
  'long destination': [60, [31, 1, 252, ...Array<number>(252).fill(0)]],
  routing: [43, [0, 4, 0, 0, 0, 0, 0]],
} as const;

function formsOfIpv6(to: string, datagram: Datagram): PacketForm[] {
  const form = (name: string, make: (name: string) => readonly Buffer[]) => ({
    name,
    frames: make(name).map((packet) => frame(to, [ETHERTYPE[6]], packet)),
  });
  const extended = (name: string, ...extensions: readonly (keyof typeof EXTENSION)[]) =>
    form(name, () => {
      const [first, data] = behind(extensions, UDP, udp(datagram, name));
      return [ipv6(datagram, first, data)];
    });
  const cut = (name: string, at: number): Buffer[] =>
    fragments(datagram, UDP, udp(datagram, name), at);
  return [
    form('IPv6', (name) => [ipv6(datagram, UDP, udp(datagram, name))]),
    extended('hop-by-hop options', 'hop-by-hop'),
    extended('destination options', 'destination'),
    extended('six destination options', ...Array<'destination'>(6).fill('destination')),
    extended('destination options of 256 bytes', 'long destination'),
    extended('routing header', 'routing'),
    form('atomic fragment', (name) => cut(name, Infinity)),
    form('fragments', (name) => cut(name, 16)),
    form('fragments, last first (IPv6)', (name) => cut(name, 16).toReversed()),
    form('first fragment of 8 bytes (IPv6)', (name) => cut(name, 8)),
    form('options inside fragments', (name) => {
      const [first, data] = behind(['destination'], UDP, udp(datagram, name));
      return fragments(datagram, first, data, 24);
    }),
  ];
}

function frame(to: string, types: readonly number[], packet: Buffer): Buffer {
  const mac = Buffer.from(to.replaceAll(':', ''), 'hex');
  const tags = types.map((type): Part => [type, 2]);
  return bytesOf(mac, [0x02_00_00_00_00_99, 6], ...tags, packet);
}

/** With its checksum, which a kernel looks at before it delivers. */
function udp({ source, destination, port }: Datagram, payload: string, protocol = UDP): Buffer {
  // Fragments are of 8 bytes, and a part of it is in each.
  const body = Buffer.alloc(Math.ceil(payload.length / 8) * 8 + 32, 0);
  body.write(payload);
  const length = 8 + body.length;
  const ports: readonly Part[] = [
    [SOURCE_PORT, 2],
    [port, 2],
  ];
  const data = bytesOf(...ports, [length, 2], [0, 2], body);
  const pseudo = bytesOf(
    addressBytes(source),
    addressBytes(destination),
    [protocol, 2],
    [length, 2],
  );
  data.writeUInt16BE(checksum(Buffer.concat([pseudo, data])) || 0xffff, 6);
  return data;
}

interface Header {
  readonly protocol?: number;
  readonly options?: Buffer;
  /** The number as the field of the header has it. */
  readonly fragment?: number;
  readonly number?: number;
}

function ipv4(
  { source, destination }: Datagram,
  data: Buffer,
  { protocol = UDP, options = Buffer.alloc(0), fragment = 0, number = nextNumber() }: Header = {},
): Buffer {
  const length = 20 + options.length;
  const header = bytesOf(
    [0x40 | (length / 4), 1],
    [0, 1],
    [length + data.length, 2],
    [number, 2],
    [fragment, 2],
    [64, 1],
    [protocol, 1],
    [0, 2],
    addressBytes(source),
    addressBytes(destination),
    options,
  );
  header.writeUInt16BE(checksum(header), 10);
  return Buffer.concat([header, data]);
}

let lastNumber = 0;
/** The number of a datagram: all of its fragments have it. */
function nextNumber(): number {
  lastNumber += 1;
  return lastNumber;
}

function parts(datagram: Datagram, data: Buffer, at: number): Buffer[] {
  const number = nextNumber();
  return [
    ipv4(datagram, data.subarray(0, at), { fragment: MORE, number }),
    ipv4(datagram, data.subarray(at), { fragment: at / 8, number }),
  ];
}

/** The second part says the ports again, of another port that no rule denies. */
function overlapping(datagram: Datagram, data: Buffer): Buffer[] {
  const open = Buffer.from(data.subarray(0, 16));
  open.writeUInt16BE(datagram.port + 1, 2);
  const number = nextNumber();
  return [
    ipv4(datagram, data.subarray(0, 16), { fragment: MORE, number }),
    ipv4(datagram, open, { fragment: MORE, number }),
    ipv4(datagram, data.subarray(16), { fragment: 2, number }),
  ];
}

function ipv6({ source, destination }: Datagram, next: number, data: Buffer): Buffer {
  return bytesOf(
    [6 << 28, 4],
    [data.length, 2],
    [next, 1],
    [64, 1],
    addressBytes(source),
    addressBytes(destination),
    data,
  );
}

function fragments(datagram: Datagram, next: number, data: Buffer, at: number): Buffer[] {
  const number = nextNumber();
  const part = (from: number, to: number): Buffer => {
    const more = to < data.length ? 1 : 0;
    const header = bytesOf([next, 1], [0, 1], [from | more, 2], [number, 4]);
    return ipv6(datagram, 44, Buffer.concat([header, data.subarray(from, to)]));
  };
  return at >= data.length ? [part(0, data.length)] : [part(0, at), part(at, data.length)];
}

/** Extension headers in front of what they lead to, and the number of the first. */
function behind(
  extensions: readonly (keyof typeof EXTENSION)[],
  protocol: number,
  data: Buffer,
): [number, Buffer] {
  return extensions.toReversed().reduce<[number, Buffer]>(
    ([next, rest], name) => {
      const [number, bytes] = EXTENSION[name];
      return [number, Buffer.concat([Buffer.from([next, ...bytes]), rest])];
    },
    [protocol, data],
  );
}

function checksum(data: Buffer): number {
  let sum = 0;
  for (let at = 0; at < data.length; at += 2) sum += (data[at] ?? 0) * 256 + (data[at + 1] ?? 0);
  while (sum > 0xffff) sum = (sum & 0xffff) + Math.floor(sum / 0x1_0000);
  return ~sum & 0xffff;
}
