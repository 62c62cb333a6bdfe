import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below those that systems give to connections (Linux from 32768 on, others from 49152), and those of the fuzzer. */
const [FIRST, END] = [10_000, 18_000];

/** The ports that this process has drawn, which may not be in use yet. */
const drawn = new Set<number>();

/**
 * A port of 127.0.0.1 that nothing uses, for a program that is started later, or again. No connection is given it meanwhile, as
 * happens to a port that `listen(0)` had.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST, END);
    if (drawn.has(port)) continue;
    drawn.add(port);
    if ((await isFree('tcp', port)) && (await isFree('udp', port))) return port;
  }
}

async function isFree(protocol: 'tcp' | 'udp', port: number): Promise<boolean> {
  const holder = protocol === 'tcp' ? createServer() : createSocket('udp4');
  const held = once(holder, 'listening').then(
    () => true,
    () => false,
  );
  if ('listen' in holder) holder.listen(port, '127.0.0.1');
  else holder.bind(port, '127.0.0.1');
  const isHeld = await held;
  if (isHeld || !('listen' in holder)) {
    // A datagram socket stays open also when it is refused the port.
    const closed = once(holder, 'close');
    holder.close();
    await closed;
  }
  return isHeld;
}
