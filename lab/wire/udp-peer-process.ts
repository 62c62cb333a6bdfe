import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { PeerAnswer, PeerCommand } from './udp-peer.ts';

/** The process of a `UdpPeer`: sockets in its network namespace, commanded line by line. */
interface Bound {
  readonly socket: Socket;
  received: number;
}

const bound = new Map<string, Bound>();

for await (const line of createInterface({ input: process.stdin })) {
  const { id, ...command } = JSON.parse(line) as PeerCommand & { readonly id: number };
  const answer: PeerAnswer & { id: number } = { id, ...(await run(command)) };
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
process.exit();

async function run(command: PeerCommand): Promise<PeerAnswer> {
  const { name } = command;
  if (command.do === 'bind') {
    const { address, port, reply } = command;
    const asked = Buffer.from(command.asked ?? '', 'hex');
    const socket = createSocket({ type: address.includes(':') ? 'udp6' : 'udp4' });
    const entry: Bound = { socket, received: 0 };
    socket.on('message', (message, from) => {
      entry.received++;
      if (reply !== null && message.subarray(0, asked.length).equals(asked))
        socket.send(reply === '' ? message : Buffer.from(reply, 'hex'), from.port, from.address);
    });
    socket.bind(port, address);
    await once(socket, 'listening');
    socket.setRecvBufferSize(4 << 20);
    bound.set(name, entry);
    return { received: 0 };
  }
  const entry = bound.get(name);
  if (entry === undefined) throw new Error(`no socket ${name}`);
  if (command.do === 'send') {
    const data = Buffer.from(command.data, 'hex');
    for (let sent = 0; sent < command.count; sent++) {
      await new Promise<void>((resolve, reject) => {
        entry.socket.send(data, command.port, command.to, (error) =>
          error === null ? resolve() : reject(error),
        );
      });
    }
  }
  if (command.do === 'exchange') {
    const answered = once(entry.socket, 'message');
    entry.socket.send(Buffer.from('ping'), command.port, command.to);
    await answered;
  }
  if (command.do === 'count') await readAll(entry);
  return { received: entry.received };
}

/** One iteration of the event loop reads some datagrams of a socket: repeats until an iteration reads none. */
async function readAll(entry: Bound): Promise<void> {
  let before = -1;
  while (before !== entry.received) {
    before = entry.received;
    for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
  }
}
