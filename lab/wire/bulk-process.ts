import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

/**
 * TCP as fast as it goes. `serve ADDRESS PORT`: says a line when it listens; takes everything, or to who begins with
 * `u`, gives without end. `load ADDRESS PORT d|u SECONDS`: to it, or from it, for so long.
 */
const [role, address = '', port = '', way = '', seconds = ''] = process.argv.slice(2);
const BLOCK = Buffer.alloc(64 * 1024);

if (role === 'serve') {
  const server = createServer((socket) => void serve(socket));
  server.listen(Number(port), address);
  await once(server, 'listening');
  process.stdout.write('listening\n');
} else {
  const socket = connect(Number(port), address);
  await once(socket, 'connect');
  socket.on('error', () => undefined);
  socket.write(way);
  if (way === 'u') socket.resume();
  else give(socket);
  await pause(Number(seconds) * 1000);
  process.exit();
}

async function serve(socket: Socket): Promise<void> {
  socket.on('error', () => undefined);
  const [first] = (await once(socket, 'data')) as [Buffer];
  if (first.toString('latin1', 0, 1) === 'u') give(socket);
  socket.resume();
}

function give(socket: Socket): void {
  const more = (): void => {
    while (!socket.destroyed && socket.write(BLOCK));
  };
  socket.on('drain', more);
  more();
}
