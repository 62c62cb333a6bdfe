import assert from 'node:assert/strict';
import { type ChildProcess, execFile } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';
import type { FilterType } from '@portcullis/core/filters/catalogue.ts';
import { findFilter } from '@portcullis/core/filters/catalogue.ts';
import type { Signature, Transport, UdpFilter } from '@portcullis/core/filters/filter.ts';
import { fits } from '@portcullis/core/filters/evaluate.ts';
import { filled } from '@portcullis/core/filters/testing/payloads.ts';
import type { Packet } from '@portcullis/core/firewall/packet.ts';
import { PROTOCOL_NUMBERS } from '@portcullis/core/firewall/match.ts';
import { repeated } from '@portcullis/core/testing/repeated.ts';
import { EARLY_SETTINGS, filteredPolicy } from '@portcullis/dataplane/testing/policies.ts';
import { compileEarly } from '@portcullis/dataplane/xdp/compile/compile.ts';
import { NO_UNIONS } from '@portcullis/dataplane/xdp/compile/unions.ts';
import { readDevice } from '@portcullis/dataplane/xdp/devices/device.ts';
import type { EarlyDropDriver } from '@portcullis/dataplane/xdp/driver/driver.ts';
import { createKernelDriver } from '@portcullis/dataplane/xdp/driver/kernel-driver.ts';
import { framesOf, PLAIN } from '../../differential/frames.ts';
import { FLAGS } from '../../differential/segments.ts';
import { FrameRing, PacketSocket } from '../../floods/packet-socket.ts';
import { driverWithin } from '../../driver-within.ts';
import { GameClient, type Game } from '../../games/client.ts';
import { type Need, require } from '../../requirements.ts';
import { processorNs } from '../../stack/game-servers.ts';
import { EDGE_DEVICE, SERVER } from '../../stack/internet.ts';
import type { Namespace } from '../../stack/netns.ts';
import { TcpEnd } from '../../wire/tcp-end.ts';
import { eventually } from '../stack-fixture.ts';
import { FilterEdge } from './filter-edge.ts';

const DIALOGUE = join(import.meta.dirname, '..', '..', 'wire', 'dialogue.py');
const RECORDER = join(import.meta.dirname, '..', '..', 'captures', 'record.py');
/** A folder, for the tool of `lab/captures`. */
const RECORD = 'PORTCULLIS_RECORD';
const IS_SOAK = repeated(1) > 1;
/** Packets of one flood: a second or less, and some ten in the soak. */
const FLOOD = IS_SOAK ? 1_200_000 : 60_000;
/** A dialogue of so many lines plays, and pauses before its last line in the soak. */
const PLAYING = 50;
const MAX_LEAK = 0.001;
const RUN_MS = 60_000;
/** Forged sources that a flood comes from; nobody else has them. */
const FORGED = 'ip saddr 11.0.0.0/8';

/**
 * A server behind an edge with one filter on its port. A test of a filter starts a real server, has a real client play
 * through the filter from the first packet, and floods it in all ways that the filter is for.
 */
export class FilteredServer {
  readonly edge: FilterEdge;
  readonly address = SERVER[4];
  readonly port: number;
  readonly type: FilterType;
  readonly #test: TestContext;
  readonly #home = mkdtempSync(join(tmpdir(), 'portcullis-filtered-'));
  readonly #children: ChildProcess[] = [];
  #socket: PacketSocket | null = null;
  #filtered = false;
  #early: EarlyDropDriver | null = null;
  #recording: Promise<unknown> | null = null;

  /** Null if the machine lacks something, which the test then says. */
  static create(
    t: TestContext,
    type: FilterType,
    port: number,
    needs: readonly Need[] = [],
  ): FilteredServer | null {
    if (!require(t, ['root', 'netns', 'nft', 'conntrack', 'python3', ...needs])) return null;
    const server = new FilteredServer(t, type, port);
    t.after(() => server.#destroy());
    server.#record();
    return server;
  }

  private constructor(t: TestContext, type: FilterType, port: number) {
    this.#test = t;
    this.type = type;
    this.port = port;
    this.edge = new FilterEdge(type.slice(0, 8));
  }

  /** Keeps what passes the edge, if `lab/captures` asks for it. */
  #record(): void {
    const folder = process.env[RECORD];
    if (folder === undefined) return;
    const place = [join(folder, this.type), EDGE_DEVICE, this.address, `${this.port}`];
    const child = this.edge.internet.edge.spawn(['python3', RECORDER, ...place], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.#children.push(child);
    this.#recording = once(child.stdout as Readable, 'data');
  }

  #destroy(): void {
    for (const child of this.#children) child.kill('SIGKILL');
    this.#early?.close();
    this.edge.destroy();
    rmSync(this.#home, { recursive: true, force: true });
  }

  /** Writes a file for the server or the client; returns its path. */
  file(name: string, text: string): string {
    const path = join(this.#home, name);
    writeFileSync(path, text, { mode: 0o600 });
    return path;
  }

  /** Starts a process in the namespace of the server; it ends with the test. */
  start(...command: readonly string[]): void {
    const env = { ...process.env, HOME: this.#home };
    const { server } = this.edge.internet;
    this.#children.push(
      server.spawn(command, { stdio: ['pipe', 'ignore', 'ignore'], cwd: this.#home, env }),
    );
  }

  /** Runs a command to its end in the namespace of the client; rejects with its output if it fails. */
  async run(...command: readonly string[]): Promise<string> {
    const [program, ...args] = this.edge.internet.client.command(...command);
    const env = { ...process.env, HOME: this.#home };
    const options = { cwd: this.#home, env, timeout: RUN_MS };
    const { stdout } = await promisify(execFile)(program, args, options);
    return stdout;
  }

  /** The same, again until it does not fail: for a server that is still starting. */
  async runUntilDone(...command: readonly string[]): Promise<string> {
    let stdout = '';
    await eventually(`${command.join(' ')} succeeds`, async () => {
      try {
        stdout = await this.run(...command);
        return true;
      } catch {
        return false;
      }
    });
    return stdout;
  }

  /** Joins with one of the lab's own clients, again until the server has started. */
  async join(game: Game): Promise<GameClient> {
    let player: GameClient | null = null;
    await eventually(`a client of ${game} gets in`, async () => {
      const joining = GameClient.join(this.edge.internet.client, game, this.address, this.port);
      player = await joining.catch(() => null);
      return player !== null;
    });
    return player ?? assert.fail();
  }

  /** Starts a server that answers what begins with one of these, as hex. */
  async answer(
    transport: Transport,
    answers: readonly (readonly [string, string])[],
  ): Promise<void> {
    const child = this.edge.internet.server.spawn(
      [
        'python3',
        DIALOGUE,
        'serve',
        transport,
        this.address,
        `${this.port}`,
        JSON.stringify(answers),
      ],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    this.#children.push(child);
    await once(child.stdout as Readable, 'data');
  }

  /**
   * Says these lines to the server; each is answered by what begins with the second, as hex. Null: by nothing. In the
   * soak, those who play are silent before the last line for most of the time that the filter remembers them.
   */
  async ask(
    transport: Transport,
    lines: readonly (readonly [said: string, answer: string | null])[],
  ): Promise<void> {
    const place = [this.address, String(this.port)];
    const rememberedSeconds = findFilter(this.type)?.udp?.validatedSeconds ?? 60;
    const idle = IS_SOAK && lines.length >= PLAYING ? 0.8 * rememberedSeconds : 0;
    await this.run(
      'python3',
      DIALOGUE,
      'ask',
      transport,
      ...place,
      JSON.stringify(lines),
      `${idle}`,
    );
  }

  /** Client addresses and ports that the server has validated. */
  async validated(): Promise<string[]> {
    return (await this.edge.keys('validated4')).filter((key) =>
      key.endsWith(` ${this.address} ${this.port}`),
    );
  }

  /** Puts the filter on the port, and with `early` the early drop on the device before it. */
  async filter({ early = false } = {}): Promise<void> {
    this.#filtered = true;
    await this.#recording;
    const policy = filteredPolicy(this.address, [this.type, this.port]);
    await this.edge.apply([policy]);
    if (!early) return;
    const { edge } = this.edge.internet;
    const driver = driverWithin(edge, createKernelDriver({ pins: '' }));
    this.#early = driver;
    const device = edge.within(() => readDevice(EDGE_DEVICE)) ?? assert.fail();
    driver.load([compileEarly(policy)], EARLY_SETTINGS, NO_UNIONS);
    driver.enforce();
    assert.deepEqual(driver.watch([device.ifindex]), []);
    driver.attach(device.ifindex);
  }

  /** Packets that the early drop dropped since the last call. */
  droppedEarly(): number {
    const counts = this.#early?.counts() ?? [];
    return counts.reduce((sum, { packets }) => sum + packets, 0);
  }

  /** Packets that the filter dropped, by reason. */
  async dropped(): Promise<Readonly<Record<string, number>>> {
    const start = `${this.address} ${this.port} `;
    return Object.fromEntries(
      Object.entries(await this.edge.dropped())
        .filter(([key]) => key.startsWith(start))
        .map(([key, packets]) => [key.slice(start.length), packets]),
    );
  }

  /**
   * Floods the port from forged sources by random payloads, by what servers of this kind reply, by greetings, by packets
   * that roam, and by SYNs and segments of connections that are not there. At most one packet in a thousand gets to the server, and of
   * greetings no more than the filter's budget. The soak floods longer, floods again without the filter, and prints the
   * server's own processor time in each.
   */
  async assertFloodsDropped(): Promise<void> {
    const withMs = await this.#flood();
    if (!IS_SOAK) return;
    await this.edge.apply([filteredPolicy(this.address)]);
    this.#filtered = false;
    const withoutMs = await this.#flood();
    this.#test.diagnostic(
      `the server runs for ${withMs} ms in floods, and ${withoutMs} unfiltered`,
    );
    await this.filter();
  }

  /** Returns the milliseconds of processor time that the server took. */
  async #flood(): Promise<number> {
    const before = this.#processorNs();
    const { udp, tcp } = findFilter(this.type) ?? assert.fail(this.type);
    if (udp !== null) {
      const greetings = udp.greetings.map((one) => Buffer.from(filled(one, randomBytes(16))));
      const known = [...udp.greetings, ...roamingOf(udp)];
      const replies = (udp.replies ?? []).map((one) => Buffer.from(filled(one, randomBytes(16))));
      const random = Array.from({ length: 64 }, () => randomBytes(randomInt(40, 1200)));
      const strangers = random.filter((one) => !known.some((sign) => fits(sign, one)));
      const reflected = replies.filter((one) => !known.some((sign) => fits(sign, one)));
      if (udp.greetings.length > 0) await this.#floodBy('random payloads', 'udp', strangers, 0);
      if (reflected.length > 0) await this.#floodBy('reflected replies', 'udp', reflected, 0);
      const forged = greetings.length > 0 ? greetings : random;
      await this.#floodBy('replayed greetings', 'udp', forged, udp.budgetPps);
      if (udp.roaming) await this.assertRoamingLimited();
    }
    if (tcp !== null) {
      const openings = tcp.openings.map((one) => Buffer.from(filled(one, randomBytes(16))));
      const payloads = openings.length > 0 ? openings : [randomBytes(64)];
      await this.#floodBy('SYNs', FLAGS.syn, [Buffer.alloc(0)], 0);
      await this.#floodBy('segments without a connection', FLAGS.ack | FLAGS.psh, payloads, 0);
    }
    return Math.round((this.#processorNs() - before) / 1e6);
  }

  /** Floods the port from forged sources by what connections of an unknown address send: the budget for it arrives. */
  async assertRoamingLimited(): Promise<void> {
    const udp = findFilter(this.type)?.udp;
    const roams = udp ? roamingOf(udp).map((one) => Buffer.from(filled(one, randomBytes(16)))) : [];
    const budgetPps = udp?.roaming?.rates.budgetPps ?? assert.fail(this.type);
    await this.#floodBy('packets that roam', 'udp', roams, budgetPps);
  }

  #processorNs(): number {
    return this.#children.reduce((sum, child) => sum + processorNs(child), 0);
  }

  /** A real connection whose first payload is no opening: the server gets none of it. */
  async assertBadOpeningDropped(): Promise<void> {
    const { client, server } = this.edge.internet;
    const data = this.edge.countAt(server, `tcp dport ${this.port} tcp flags & psh == psh`);
    const before = (await this.dropped())['no-opening'] ?? 0;
    const ends: TcpEnd[] = [];
    // A busy machine may take longer than an attempt to connect has.
    await eventually('the SYN proxy answers', async () => {
      const end = await TcpEnd.connect(client, this.address, this.port);
      return end !== null && ends.push(end) > 0;
    });
    const answer = (ends[0] as TcpEnd).ask();
    await eventually('the payload is dropped', async () => {
      return ((await this.dropped())['no-opening'] ?? 0) > before;
    });
    assert.equal(data(), 0);
    void answer.catch(() => undefined);
  }

  async #floodBy(
    what: string,
    flags: number | 'udp',
    payloads: readonly Buffer[],
    budgetPps: number,
  ): Promise<void> {
    const { client, edge, server } = this.edge.internet;
    const arrived = this.edge.countAt(server, `${FORGED} th dport ${this.port}`);
    const to = edge.run('cat', `/sys/class/net/${EDGE_DEVICE}/address`).trim();
    const frames = Array.from({ length: 512 }, (_, id) => {
      const payload = payloads[id % payloads.length] ?? Buffer.alloc(0);
      const form = {
        ...PLAIN,
        flags: flags === 'udp' ? 0 : flags,
        acknowledged: randomInt(2 ** 31),
      };
      return framesOf({ id, packet: this.#forged(flags === 'udp'), form, payload }, to);
    }).flat();
    const ring = new FrameRing(frames);
    const socket = (this.#socket ??= client.within(() => new PacketSocket(ifindexOf(client))));
    const begin = performance.now();
    for (let sent = 0; sent < FLOOD; ) {
      sent += socket.send(ring, sent % frames.length, Math.min(FLOOD - sent, frames.length));
    }
    const seconds = (performance.now() - begin) / 1000;
    const leaked = arrived();
    if (!this.#filtered) return;
    const most = Math.max(MAX_LEAK * FLOOD, budgetPps * (1 + seconds));
    assert.ok(leaked <= most, `${leaked} of ${FLOOD} packets arrived: ${what}, in ${seconds} s`);
  }

  #forged(isUdp: boolean): Packet {
    return {
      family: 4,
      source: `11.${randomInt(256)}.${randomInt(256)}.${randomInt(1, 255)}`,
      destination: this.address,
      protocol: isUdp ? PROTOCOL_NUMBERS.udp : PROTOCOL_NUMBERS.tcp,
      sourcePort: randomInt(1024, 65_536),
      destinationPort: this.port,
      icmp: null,
      hopLimit: 64,
      fragment: 'none',
    };
  }
}

function roamingOf({ roaming }: UdpFilter): Signature[] {
  return (roaming?.kinds ?? []).flatMap(({ packets }) => packets);
}

function ifindexOf(client: Namespace): number {
  return Number(client.run('cat', '/sys/class/net/eth0/ifindex'));
}
