import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import type { RushPlan, RushReport } from './rush.ts';

/** The process of a `rush`: the plan is its argument, the report a line on standard output. */
const plan = JSON.parse(process.argv[2] ?? '') as RushPlan;
const SLOT_MS = 250;
/** A client repeats its request when it gets no answer. */
const ASK_AGAIN_MS = 500;
/** Grace time for packets in flight at the end. */
const GRACE_MS = 1000;
const TURN = Buffer.alloc(90);

const begin = performance.now();
const slots: number[] = [];
const players = await Promise.all(plan.sources.map(play));
const sent = slots.reduce((sum, count) => sum + count, 0);
const second = slots.map((_, at) => slots.slice(at, at + 6).reduce((sum, one) => sum + one, 0));
const report: RushReport = {
  players,
  sent,
  peakPps: (Math.max(...slots) * 1000) / SLOT_MS,
  windowPps: Math.max(...second) / 1.5,
  steadyPps: plan.sources.length * plan.turnsPerSecond,
};
process.stdout.write(`${JSON.stringify(report)}\n`);
process.exit();

async function play(source: string, index: number): Promise<RushReport['players'][number]> {
  const socket = createSocket('udp4');
  socket.bind(0, source);
  await once(socket, 'listening');
  let asked = 0;
  let answered = 0;
  socket.on('message', () => void answered++);
  const send = (): void => {
    asked++;
    const slot = Math.floor((performance.now() - begin) / SLOT_MS);
    slots[slot] = (slots[slot] ?? 0) + 1;
    socket.send(TURN, plan.port, plan.server);
  };
  await pause((plan.joinWithinMs * index) / plan.sources.length);
  const askedMs = performance.now();
  const deadline = begin + plan.seconds * 1000;
  while (answered === 0 && performance.now() < deadline) {
    const heard = new Promise((resolve) => socket.once('message', resolve));
    send();
    await Promise.race([heard, pause(ASK_AGAIN_MS)]);
  }
  const joinedMs = performance.now() - askedMs;
  const unansweredAsks = asked - answered;
  for (let packet = 1; packet < plan.joinPackets; packet++) send();
  while (performance.now() < deadline) {
    await pause(1000 / plan.turnsPerSecond);
    send();
  }
  await pause(GRACE_MS);
  return { joinedMs: Math.round(joinedMs), turns: asked, lost: asked - answered - unansweredAsks };
}
