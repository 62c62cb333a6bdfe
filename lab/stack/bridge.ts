import { connect, createServer } from 'node:net';
import { pipeline } from 'node:stream';

/** `bridge.ts SOCKET PORT`: carries connections of a Unix socket to a TCP port of this network namespace. */
const [socket = '', port = ''] = process.argv.slice(2);
const server = createServer((incoming) => {
  const outgoing = connect(Number(port), '127.0.0.1');
  // When one end closes, the other is closed too.
  pipeline(incoming, outgoing, incoming, () => {});
});
server.listen(socket, () => console.log('ready'));
