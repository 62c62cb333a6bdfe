import { pino } from 'pino';
import { startEmbeddedPostgres } from './index.ts';

/**
 * A test program that owns the server of a data directory (its first argument) like control, as the account of the second one if there
 * is one. Sends `{ url, pid }` to
 * its parent; SIGTERM stops it.
 */
const [, , dataDir = '', account] = process.argv;
const log = pino({ level: 'silent' });
const server = await startEmbeddedPostgres({
  dataDir,
  log,
  ...(account !== undefined && { account }),
}).catch((error: unknown) => {
  process.send?.({ error: error instanceof Error ? error.message : String(error) });
  process.exit(1);
});
// The server does not keep the process alive.
setInterval(() => {}, 60_000);
process.once('SIGTERM', () => void server.stop().then(() => process.exit(0)));
process.send?.({ url: server.url, pid: server.pid() });
