import { createSocket } from 'node:dgram';
import { createInterface } from 'node:readline';

/**
 * When a packet gets through for the first time. `arrivals.ts send PORT` sends a datagram a millisecond to the
 * destination that the last line on standard input named (`NUMBER ADDRESS`), with the number in it;
 * `arrivals.ts receive PORT` answers a line `NUMBER NANOSECONDS` at the first datagram of each number.
 */
const [role, port = ''] = process.argv.slice(2);
const socket = createSocket('udp4');
if (role === 'send') {
  let target: { readonly number: string; readonly address: string } | null = null;
  createInterface({ input: process.stdin })
    .on('line', (line) => {
      const [number = '', address = ''] = line.split(' ');
      target = { number, address };
    })
    .on('close', () => process.exit(0));
  setInterval(() => {
    if (target !== null) socket.send(target.number, Number(port), target.address);
  }, 1);
} else {
  let last = '';
  socket.on('message', (message) => {
    const number = message.toString();
    if (number === last) return;
    last = number;
    process.stdout.write(`${number} ${process.hrtime.bigint()}\n`);
  });
  socket.bind(Number(port));
  process.stdin.on('end', () => process.exit(0)).resume();
}
