import { createSocket } from 'node:dgram';
import { setTimeout as pause } from 'node:timers/promises';
import { LOAD_FORMATS, loadOf } from './load.ts';

/**
 * Sends the datagrams of a format to a port of 127.0.0.1, over and over for some seconds, at a rate that a reader
 * keeps up with:
 *
 *     FORMAT PORT DATAGRAMS_PER_SECOND SECONDS
 */
const [name, ...numbers] = process.argv.slice(2);
const [port = 0, rate = 0, seconds = 0] = numbers.map(Number);
const format = LOAD_FORMATS.find((one) => one === name);
if (format === undefined) throw new Error(`no format ${name}`);
const { datagrams } = loadOf(format);
const socket = createSocket('udp4');
const begin = performance.now();
for (let sent = 0; performance.now() - begin < seconds * 1000; ) {
  const due = ((performance.now() - begin) / 1000) * rate;
  for (; sent < due; sent++)
    socket.send(datagrams[sent % datagrams.length] as Buffer, port, '127.0.0.1');
  await pause(2);
}
socket.close();
