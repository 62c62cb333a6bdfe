import { createSocket, type Socket as Datagrams } from 'node:dgram';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { CLIENT_KINDS, type ClientKind, type ClientsPlan, type Tries } from './clients.ts';

/** The process of `Clients`: its plan is the argument; it says `ready`, and after `stop` every try as one line. */
const plan = JSON.parse(process.argv[2] ?? '') as ClientsPlan;
const OLD_MS = 50;
const KEPT_MS = 250;
/** A new client comes as often, sends again after this time, and gives up. */
const NEW_MS = 250;
const AGAIN_MS = 250;
const NEW_PATIENCE_MS = 2_500;
const TCP_PATIENCE_MS = 5_000;
/** Answers to datagrams that are on their way at the end. */
const GRACE_MS = 1_000;
const CROWD_TICK_MS = 10;
const ANSWERED = 'HTTP/1.1 200';
const FAMILY = plan.address.includes(':') ? 'udp6' : 'udp4';

type Open = { atMs: number; waitedMs: number | null };
const tries = Object.fromEntries(CLIENT_KINDS.map((kind) => [kind, []])) as unknown as Record<
  ClientKind,
  Open[]
>;
const pending = new Set<Promise<void>>();
let isOver = false;
let strangers = 0;

const commands = createInterface({ input: process.stdin });
await Promise.all([
  ...plan.old.map((source) => joinOld('old', source, OLD_MS)),
  ...(plan.busy === null ? [] : [joinOld('busy', plan.busy.source, 1000 / plan.busy.pps)]),
  ...plan.kept.map(joinKept),
]);
const timers = [
  setInterval(() => track(tryNew(stranger())), NEW_MS),
  setInterval(() => track(tryConnection('tcp', stranger(), true)), NEW_MS),
];
process.stdout.write('ready\n');
for await (const line of commands) {
  if (line === 'crowd') track(gatherCrowd());
  if (line === 'stop') break;
}
isOver = true;
for (const timer of timers) clearInterval(timer);
await pause(GRACE_MS);
while (pending.size > 0) await Promise.all(pending);
const report: Tries = Object.fromEntries(
  CLIENT_KINDS.map((kind) => [
    kind,
    tries[kind].map(({ atMs, waitedMs }) => [Math.round(atMs), waitedMs && Math.round(waitedMs)]),
  ]),
) as unknown as Tries;
process.stdout.write(`${JSON.stringify(report)}\n`, () => process.exit());

function nowMs(): number {
  return performance.timeOrigin + performance.now();
}

function begin(kind: ClientKind): Open {
  const open = { atMs: nowMs(), waitedMs: null };
  tries[kind].push(open);
  return open;
}

function answer(open: Open): void {
  open.waitedMs ??= nowMs() - open.atMs;
}

function track(work: Promise<void>): void {
  pending.add(work);
  void work.finally(() => pending.delete(work));
}

function stranger(): string {
  return plan.strangers[strangers++ % plan.strangers.length] ?? '';
}

async function bound(source: string): Promise<Datagrams> {
  const socket = createSocket(FAMILY);
  socket.bind(0, source);
  await once(socket, 'listening');
  return socket;
}

/** The number of a datagram stands after what the game answers. */
function datagram(number: number): Buffer {
  const bytes = Buffer.alloc(60);
  bytes.write(plan.asked, 'hex');
  bytes.writeUInt32BE(number, 4);
  return bytes;
}

/** Answered once before anything counts. */
async function joinOld(kind: ClientKind, source: string, apartMs: number): Promise<void> {
  const socket = await bound(source);
  const sent: Open[] = [];
  const joined = once(socket, 'message');
  socket.on('message', (message) => {
    const open = sent[message.readUInt32BE(4)];
    if (open !== undefined) answer(open);
  });
  for (let isIn = false; !isIn; ) {
    socket.send(datagram(0xffff_ffff), plan.game, plan.address);
    isIn = await Promise.race([joined.then(() => true), pause(AGAIN_MS, false)]);
  }
  void (async () => {
    let dueMs = performance.now();
    while (!isOver) {
      sent.push(begin(kind));
      socket.send(datagram(sent.length - 1), plan.game, plan.address);
      dueMs += apartMs;
      await pause(Math.max(0, dueMs - performance.now()));
    }
  })();
}

async function tryNew(source: string): Promise<void> {
  const open = begin('new');
  const socket = await bound(source);
  const answered = once(socket, 'message');
  for (let isIn = false; !isIn && nowMs() - open.atMs < NEW_PATIENCE_MS; ) {
    socket.send(datagram(0), plan.game, plan.address);
    isIn = await Promise.race([answered.then(() => true), pause(AGAIN_MS, false)]);
    if (isIn) answer(open);
  }
  socket.close();
}

function request(isLast: boolean): string {
  return `GET / HTTP/1.1\r\nHost: game\r\nConnection: ${isLast ? 'close' : 'keep-alive'}\r\n\r\n`;
}

function opened(source: string): Socket {
  const socket = connect({ host: plan.address, port: plan.web, localAddress: source });
  // A reset is no answer.
  socket.on('error', () => socket.destroy());
  return socket;
}

async function tryConnection(kind: ClientKind, source: string, isLast: boolean): Promise<void> {
  const open = begin(kind);
  const socket = opened(source);
  socket.setTimeout(TCP_PATIENCE_MS, () => socket.destroy());
  socket.write(request(isLast));
  socket.on('data', (data) => {
    if (data.toString('latin1').startsWith(ANSWERED)) answer(open);
  });
  const impatient = setTimeout(() => socket.destroy(), TCP_PATIENCE_MS);
  if (!socket.destroyed) await new Promise((resolve) => socket.once('close', resolve));
  clearTimeout(impatient);
}

/** Answers come in the order of requests; a connection that ended answers no more. */
async function joinKept(source: string): Promise<void> {
  const socket = opened(source);
  const waiting: Open[] = [];
  const joined = once(socket, 'data');
  socket.on('data', (data) => {
    const answers = data.toString('latin1').split(ANSWERED).length - 1;
    for (const open of waiting.splice(0, answers)) answer(open);
  });
  socket.write(request(false));
  await joined;
  void (async () => {
    while (!isOver) {
      waiting.push(begin('kept'));
      if (!socket.destroyed) socket.write(request(false));
      await pause(KEPT_MS);
    }
  })();
}

async function gatherCrowd(): Promise<void> {
  const { crowd } = plan;
  if (crowd === null) return;
  const startMs = performance.now();
  for (let sent = 0; performance.now() - startMs < crowd.seconds * 1000; ) {
    const due = ((performance.now() - startMs) / 1000) * crowd.connectionsPerSecond;
    for (; sent < due; sent++)
      track(tryConnection('crowd', crowd.sources[sent % crowd.sources.length] ?? '', true));
    await pause(CROWD_TICK_MS);
  }
}
