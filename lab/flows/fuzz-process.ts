import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import {
  addressBytes,
  message,
  set,
  templateSet,
} from '@portcullis/collector/testing/datagrams.ts';
import { fuzzedDatagrams } from '@portcullis/collector/testing/fuzz.ts';

/**
 * Sends fuzzed datagrams, and among them new templates and data of templates that were never sent, from one address to a
 * port of 127.0.0.1, until it is killed: FROM PORT DATAGRAMS_PER_SECOND SEED
 */
const [from = '', ...numbers] = process.argv.slice(2);
const [port = 0, rate = 0, seed = 0] = numbers.map(Number);
const SPECS = [
  [8, 4],
  [12, 4],
  [2, 4],
] as const;
/** Every so many datagrams one is a new template, and one is data for which there is none. */
const TEMPLATE_EVERY = 4;
const socket = createSocket('udp4').bind(0, from);
await once(socket, 'listening');
socket.connect(port, '127.0.0.1');
await once(socket, 'connect');
// The other side may be gone.
socket.on('error', () => {});
const drawn = fuzzedDatagrams(seed);
const begin = performance.now();
for (let sent = 0; ; ) {
  const due = ((performance.now() - begin) / 1000) * rate;
  for (; sent < due; sent++) socket.send(datagram(sent));
  await pause(1);
}

function datagram(index: number): Buffer {
  const version = index % 2 === 0 ? 9 : 10;
  const domain = 1000 + index;
  if (index % TEMPLATE_EVERY === 1) {
    return message(version, [templateSet(version, 256 + (index % 1000), SPECS)], { domain });
  }
  if (index % TEMPLATE_EVERY === 2) {
    const data = [addressBytes('198.51.100.7'), addressBytes('203.0.113.9'), [1, 4]] as const;
    return message(version, [set(300, ...data, Buffer.alloc(1000))], { domain });
  }
  return drawn.next().value;
}
