import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { setTimeout } from 'node:timers/promises';

/**
 * Real traffic of two kinds, and who takes it:
 *
 *     serve PORT                            both families
 *     udp ADDRESS PORT COUNT BYTES
 *     tcp ADDRESS PORT BYTES
 */
const [kind, ...rest] = process.argv.slice(2);
if (kind === 'serve') serve(Number(rest[0]));
else if (kind === 'udp') await sendDatagrams(rest[0] ?? '', ...numbers(rest.slice(1)));
else await sendStream(rest[0] ?? '', Number(rest[1]), Number(rest[2]));

function numbers(texts: readonly string[]): [number, number, number] {
  return texts.map(Number) as [number, number, number];
}

function serve(port: number): void {
  createSocket({ type: 'udp6' }).bind(port, '::');
  createServer((client) => client.resume().on('error', () => {})).listen(port, '::', () =>
    process.stdout.write('listening\n'),
  );
}

async function sendDatagrams(address: string, port: number, count: number, bytes: number) {
  const socket = createSocket(address.includes(':') ? 'udp6' : 'udp4');
  const payload = Buffer.alloc(bytes, 'x');
  for (let sent = 0; sent < count; sent++) {
    await new Promise<void>((done) => socket.send(payload, port, address, () => done()));
    // Slowly: what an exporter misses, it cannot tell.
    if (sent % 10 === 9) await setTimeout(2);
  }
  socket.close();
}

async function sendStream(address: string, port: number, bytes: number): Promise<void> {
  const socket = connect(port, address);
  await once(socket, 'connect');
  socket.end(Buffer.alloc(bytes, 'x'));
  socket.resume();
  await once(socket, 'close');
}
