import { pino } from 'pino';
import { startEmbeddedPostgres } from './index.ts';

/**
 * A test program that owns the server of a data directory (its argument) like control. Sends `{ url, adopted, pid }` to
 * its parent; SIGTERM stops it.
 */
const dataDir = process.argv[2] ?? '';
const log = pino({ level: 'silent' });
const server = await startEmbeddedPostgres({ dataDir, log }).catch((error: unknown) => {
  process.send?.({ error: error instanceof Error ? error.message : String(error) });
  process.exit(1);
});
// The server does not keep the process alive.
setInterval(() => {}, 60_000);
process.once('SIGTERM', () => void server.stop().then(() => process.exit(0)));
process.send?.({ url: server.url, adopted: server.adopted, pid: server.pid() });
