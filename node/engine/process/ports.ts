import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { isIPv6 } from 'node:net';
import { createServer } from 'node:net';
import { EngineError, type PublishedPort } from '../engine.ts';

/**
 * Rejects with `port_taken` or `address_missing` if a process could not listen there. It tries by listening for a moment:
 * the kernel offers no other check, and each game reports the error in its own way.
 */
export async function checkPort({ ip, port, protocol }: PublishedPort): Promise<void> {
  try {
    await (protocol === 'tcp' ? tryTcp(ip, port) : tryUdp(ip, port));
  } catch (error) {
    const options = { cause: error };
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE') throw portTaken(ip, port, options);
    if (code === 'EADDRNOTAVAIL')
      throw new EngineError(
        'address_missing',
        `This node does not have the address ${ip}.`,
        options,
      );
    // Other errors are left to the game, which may have rights that the agent lacks (ports below 1024).
  }
}

export function portTaken(ip: string, port: number, options?: ErrorOptions): EngineError {
  const message = `Port ${port} of ${ip} is in use by something else on this node.`;
  return new EngineError('port_taken', message, options);
}

async function tryTcp(host: string, port: number): Promise<void> {
  const server = createServer((socket) => socket.destroy());
  const listening = once(server, 'listening');
  server.listen({ host, port, exclusive: true });
  await listening;
  const closed = once(server, 'close');
  server.close();
  await closed;
}

async function tryUdp(address: string, port: number): Promise<void> {
  const socket = createSocket(isIPv6(address) ? 'udp6' : 'udp4');
  const listening = once(socket, 'listening');
  socket.bind({ address, port, exclusive: true });
  await listening;
  const closed = once(socket, 'close');
  socket.close();
  await closed;
}
