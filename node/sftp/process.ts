import { createServer } from 'node:net';
import { UNPRIVILEGED_ACCOUNTS } from '../server-folder/account-range.ts';
import type { FromProcess, ToProcess } from './messages.ts';
import { SftpServer } from './server.ts';

/**
 * The process that serves SFTP: it speaks the protocol to the network and to the agent over its channel, and opens no file
 * itself. It begins with the rights of the agent, to listen on any port, and gives them up before the first connection.
 */
let server: SftpServer | null = null;

function send(message: FromProcess): void {
  if (process.connected) process.send?.(message);
}

process.on('message', (message: ToProcess) => {
  if (message.kind !== 'start') {
    server?.receive(message);
    return;
  }
  const { host, port, hostKey, limits } = message;
  const sftp = new SftpServer({ hostKey, limits, send });
  server = sftp;
  const listener = createServer((socket) => sftp.accept(socket));
  listener.on('error', (error) => {
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  });
  listener.listen({ host, port }, () => {
    giveUpRights();
    const address = listener.address();
    send({ kind: 'listening', port: typeof address === 'object' ? (address?.port ?? port) : port });
  });
});
process.on('disconnect', () => process.exit(0));

function giveUpRights(): void {
  if (process.getuid?.() !== 0) return;
  process.setgroups?.([]);
  process.setgid?.(UNPRIVILEGED_ACCOUNTS.sftp);
  process.setuid?.(UNPRIVILEGED_ACCOUNTS.sftp);
}
