import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { floodFrames } from './frames.ts';
import { FrameRing, PacketSocket } from './packet-socket.ts';
import { type FloodPlan, Schedule } from './schedule.ts';

/**
 * Sends floods, all at once, from the network namespace that it runs in: a list of `FloodPlan` on standard input, and
 * back a line with the wall clock when they begin, then one `FloodReport` a line as each ends. SIGTERM ends all, and so does
 * the end of the process that started it.
 */
const FRAMES = 512;
const ETHERNET_BYTES = 14;

const parent = process.ppid;
const plans = JSON.parse(await text(process.stdin)) as readonly FloodPlan[];
const sockets = new Map(plans.map(({ ifindex }) => [ifindex, new PacketSocket(ifindex)]));
const floods = plans.map((plan) => ({
  schedule: new Schedule(plan),
  ring: new FrameRing(floodFrames(plan, plan.frames ?? FRAMES)),
  socket: sockets.get(plan.ifindex) as PacketSocket,
  next: 0,
}));
type Flood = (typeof floods)[number];

const begin = performance.now();
const epochMs = performance.timeOrigin + begin;
process.stdout.write(`${JSON.stringify({ beganAtMs: epochMs })}\n`);
const running = new Set<Flood>(floods);
let isEnough = false;
process.once('SIGTERM', () => {
  isEnough = true;
});
while (running.size > 0 && process.ppid === parent) {
  for (const flood of running) {
    const atMs = performance.now() - begin;
    advance(flood, atMs);
    if (!isEnough && !flood.schedule.isOverAt(atMs)) continue;
    running.delete(flood);
    process.stdout.write(`${JSON.stringify(flood.schedule.report(epochMs))}\n`);
  }
  await pause(1);
}

function advance(flood: Flood, atMs: number): void {
  const { schedule, ring, socket } = flood;
  let packets = 0;
  let bytes = 0;
  for (let due = schedule.dueAt(atMs); due > 0; ) {
    const sent = socket.send(ring, flood.next, due);
    if (sent === 0) break;
    for (let index = 0; index < sent; index++) {
      bytes += (ring.frames[flood.next + index]?.length ?? 0) - ETHERNET_BYTES;
    }
    flood.next = (flood.next + sent) % ring.frames.length;
    packets += sent;
    due -= sent;
  }
  schedule.note(atMs, packets, bytes);
}
