import { createSocket } from 'node:dgram';

/**
 * Prints every datagram that comes to a port as a line of hex, and sends the same bytes on to another port. When its
 * input ends and nothing came for a while, so that the other reader has read everything too, it ends.
 */
const SILENCE_MS = 300;
const [listenPort, forwardPort] = process.argv.slice(2).map(Number);
const socket = createSocket('udp4');
const forward = createSocket('udp4');
let silence: NodeJS.Timeout | null = null;
socket.on('message', (bytes) => {
  process.stdout.write(`${bytes.toString('hex')}\n`);
  forward.send(bytes, forwardPort, '127.0.0.1');
  silence?.refresh();
});
socket.bind(listenPort, '127.0.0.1', () => process.stdout.write('listening\n'));
process.stdin.resume().on('end', () => {
  silence = setTimeout(() => {
    socket.close();
    forward.close();
  }, SILENCE_MS);
});
