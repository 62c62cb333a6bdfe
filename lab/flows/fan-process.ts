import { createSocket } from 'node:dgram';

/** Sends every datagram that comes to a port of 127.0.0.1 on to others, so that several readers get the same. */
const [listenPort, ...forwardPorts] = process.argv.slice(2).map(Number);
const socket = createSocket({ type: 'udp4', recvBufferSize: 4_000_000 });
const forward = createSocket({ type: 'udp4', sendBufferSize: 4_000_000 });
// A reader that is not there yet is none of the others' concern.
forward.on('error', () => {});
socket.on('message', (bytes) => {
  for (const port of forwardPorts) forward.send(bytes, port, '127.0.0.1');
});
socket.bind(listenPort, '127.0.0.1', () => process.stdout.write('listening\n'));
