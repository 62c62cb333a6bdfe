import { connect, createServer } from 'node:net';
import { pipeline } from 'node:stream';

/** `bridge.ts SOCKET PORT`: carries connections of a Unix socket to a TCP port of this network namespace. */
const [socket = '', port = ''] = process.argv.slice(2);
const server = createServer((incoming) => {
  const outgoing = connect(Number(port), '127.0.0.1');
  // Either end may go at any time; the other follows.
  pipeline(incoming, outgoing, incoming, () => {});
});
server.listen(socket, () => console.log('ready'));
