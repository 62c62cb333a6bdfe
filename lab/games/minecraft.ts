import { inflateSync } from 'node:zlib';
import type { Join } from './session.ts';
import { Tcp } from './tcp.ts';
import { u16 } from './wire-strings.ts';

/** The protocol of 1.21.4: https://minecraft.wiki/w/Java_Edition_protocol */
const PROTOCOL = 769;
const PLAYER = 'visitor';
const NO_UUID = Buffer.alloc(16);
const HANDSHAKE = 0x00;
const STATUS_REQUEST = 0x00;
const LOGIN = {
  start: 0x00,
  refused: 0x00,
  success: 0x02,
  compression: 0x03,
  acknowledged: 0x03,
} as const;
const CONFIGURATION = { knownPacks: 0x0e, ownPacks: 0x07, finish: 0x03, finished: 0x03 } as const;
const PLAY = { keepAlive: 0x27, alive: 0x1a } as const;
const NONE = Buffer.from([0]);

interface Status {
  readonly description: unknown;
  readonly version: { readonly name: string };
  readonly players: { readonly max: number };
}

/** Minecraft 1.21.4: asks for the status as the list of servers does, then logs in without Mojang, and plays. */
export const joinMinecraft: Join = async (host, port) => {
  const status = await askStatus(host, port);
  const connection = new Connection(await Tcp.open(host, port));
  connection.send(HANDSHAKE, hello(host, port, 2));
  connection.send(LOGIN.start, text(PLAYER), NO_UUID);
  await logIn(connection);
  await configure(connection);
  await spawn(connection);
  async function* heard(): AsyncGenerator<Buffer> {
    for (;;) {
      const { kind, body } = await connection.receive();
      if (kind === PLAY.keepAlive) connection.send(PLAY.alive, body);
      else yield body;
    }
  }
  return {
    facts: {
      name: textOf(status.description),
      version: status.version.name,
      detail: `${status.players.max} players`,
    },
    heard: heard(),
    close: () => connection.close(),
  };
};

async function askStatus(host: string, port: number): Promise<Status> {
  const connection = new Connection(await Tcp.open(host, port));
  connection.send(HANDSHAKE, hello(host, port, 1));
  connection.send(STATUS_REQUEST);
  const { body } = await connection.receive();
  connection.close();
  const [, start] = readVarint(body, 0);
  return JSON.parse(body.toString('utf8', start)) as Status;
}

async function logIn(connection: Connection): Promise<void> {
  for (;;) {
    const { kind, body } = await connection.receive();
    if (kind === LOGIN.refused) throw new Error(`not let in: ${body.toString()}`);
    if (kind === LOGIN.compression) connection.compress();
    if (kind === LOGIN.success) break;
  }
  connection.send(LOGIN.acknowledged);
}

async function configure(connection: Connection): Promise<void> {
  for (;;) {
    const { kind } = await connection.receive();
    if (kind === CONFIGURATION.knownPacks) connection.send(CONFIGURATION.ownPacks, NONE);
    if (kind === CONFIGURATION.finish) break;
  }
  connection.send(CONFIGURATION.finished);
}

/** Before that the player is not among those that hear anything. */
async function spawn(connection: Connection): Promise<void> {
  for (;;) if ((await connection.receive()).body.includes(`${PLAYER} joined the game`)) return;
}

class Connection {
  readonly #tcp: Tcp;
  #compressed = false;

  constructor(tcp: Tcp) {
    this.#tcp = tcp;
  }

  /** From now on every packet says how long it is unpacked; zero: it is not packed. */
  compress(): void {
    this.#compressed = true;
  }

  send(kind: number, ...parts: readonly Buffer[]): void {
    const packet = Buffer.concat([...(this.#compressed ? [NONE] : []), varint(kind), ...parts]);
    this.#tcp.write(Buffer.concat([varint(packet.length), packet]));
  }

  async receive(): Promise<{ readonly kind: number; readonly body: Buffer }> {
    const packet = this.#unpacked(await this.#tcp.read(await this.#length()));
    const [kind, start] = readVarint(packet, 0);
    return { kind, body: packet.subarray(start) };
  }

  close(): void {
    this.#tcp.close();
  }

  async #length(): Promise<number> {
    const bytes: number[] = [];
    do bytes.push(...(await this.#tcp.read(1)));
    while ((bytes.at(-1) ?? 0) >= 0x80);
    return readVarint(Buffer.from(bytes), 0)[0];
  }

  #unpacked(packet: Buffer): Buffer {
    if (!this.#compressed) return packet;
    const [size, start] = readVarint(packet, 0);
    return size === 0 ? packet.subarray(start) : inflateSync(packet.subarray(start));
  }
}

function hello(host: string, port: number, next: 1 | 2): Buffer {
  return Buffer.concat([varint(PROTOCOL), text(host), u16(port), varint(next)]);
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([varint(bytes.length), bytes]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 0x80; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
  return Buffer.from([...bytes, rest]);
}

function readVarint(bytes: Buffer, at: number): readonly [value: number, next: number] {
  let value = 0;
  for (let index = 0; index < 5; index += 1) {
    const byte = bytes[at + index] ?? 0;
    value |= (byte & 0x7f) << (7 * index);
    if (byte < 0x80) return [value, at + index + 1];
  }
  throw new Error('a number that does not end');
}

/** A chat component is text, or an object that has it. */
function textOf(component: unknown): string {
  if (typeof component === 'string') return component;
  const { text = '' } = component as { readonly text?: string };
  return text;
}
