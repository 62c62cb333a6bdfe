import { whenSupervisorGone } from '@portcullis/link/supervisor.ts';
import type { Logger } from 'pino';
import { becomeAccount } from '../root-rights.ts';
import type { ControlConfig } from '../config/config.ts';
import { type Control, createControl } from './control.ts';
import { redact } from '../log.ts';

/** sysexits(3): wrong configuration; something needed is unavailable. */
export const EXIT_CONFIG = 78;
export const EXIT_UNAVAILABLE = 69;
const EXIT_CRASH = 70;

const RESTORED = 'a backup was restored';

/** Time limit of the whole stop, below that of a supervisor. */
const STOP_MS = 14_000;

/**
 * Runs control in this process until a signal or the exit of its supervisor; resolves with the exit code.
 * Sends `{ kind: 'ready', url, facts }` to a parent with an IPC channel.
 */
export async function runControl(config: ControlConfig, log: Logger): Promise<number> {
  const isFleetApplied = watchFleet(config.awaitsFleet);
  const restored = Promise.withResolvers<string>();
  const control = createControl(config, log, {
    giveUpRoot: becomeAccount,
    isFleetApplied,
    onRestored: () => restored.resolve(RESTORED),
  });
  exitOnBug(log);
  const stopRequest = Promise.race([stopRequested(), restored.promise]);
  const starting = control.start();
  try {
    const early = await Promise.race([starting.then(() => null), stopRequest]);
    if (early === null) announceReady({ ...(await starting) }, log);
    const why = early ?? (await stopRequest);
    log.info({ why }, 'control stops');
    await starting.catch(() => {});
    await stopWithin(control);
    // Supervisors start it again.
    return why === RESTORED ? EXIT_UNAVAILABLE : 0;
  } catch (error) {
    log.debug({ error }, 'control could not start');
    process.stderr.write(`portcullis control: cannot start: ${redact(inOneLine(error))}\n`);
    return EXIT_UNAVAILABLE;
  }
}

/** The supervisor sends `{ kind: 'fleet-applied' }` once. */
function watchFleet(awaits: boolean): () => boolean {
  let isApplied = !awaits;
  process.on('message', (message: { readonly kind?: unknown }) => {
    if (message.kind === 'fleet-applied') isApplied = true;
  });
  return () => isApplied;
}

interface Ready {
  readonly url: string;
  readonly metricsUrl: string | null;
  readonly databaseUrl: string;
  readonly linkSocket: string;
  readonly nodeSocket: string;
}

function announceReady(
  { url, metricsUrl, databaseUrl, linkSocket, nodeSocket }: Ready,
  log: Logger,
): void {
  log.info({ url, metricsUrl, linkSocket, nodeSocket }, 'control is ready');
  if (!process.connected) return;
  const facts = {
    url,
    databaseUrl,
    linkSocket,
    nodeSocket,
    ...(metricsUrl !== null && { metricsUrl }),
  };
  process.send?.({ kind: 'ready', url, facts });
}

function stopRequested(): Promise<string> {
  return new Promise((resolve) => {
    process.once('SIGINT', () => resolve('SIGINT'));
    process.once('SIGTERM', () => resolve('SIGTERM'));
    whenSupervisorGone(() => resolve('its supervisor is gone'));
  });
}

async function stopWithin(control: Control): Promise<void> {
  const timer = setTimeout(() => process.exit(EXIT_CRASH), STOP_MS);
  await control.stop();
  clearTimeout(timer);
}

/** Exits on an uncaught error, because the state is unknown; the supervisor starts another process. */
function exitOnBug(log: Logger): void {
  const exit = (error: unknown): void => {
    log.fatal({ error }, 'a bug ends this process');
    process.exit(EXIT_CRASH);
  };
  process.once('uncaughtException', exit);
  process.once('unhandledRejection', exit);
}

const MAX_CAUSES = 5;

/** Formats an error and its causes as one line without stack. */
export function inOneLine(error: unknown): string {
  const parts: string[] = [];
  // Limited by steps, because an error can be its own cause.
  for (let at = error, step = 0; at !== undefined && step < MAX_CAUSES; step += 1) {
    const message = describe(at);
    if (message !== '' && !parts.includes(message)) parts.push(message);
    at = at instanceof Error ? at.cause : undefined;
  }
  return parts.join(': ').replace(/\s+/g, ' ').trim();
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = 'code' in error ? error.code : undefined;
  const port = 'port' in error && typeof error.port === 'number' ? error.port : null;
  if (code === 'EADDRINUSE' && port !== null) {
    return `port ${port} is taken by another program; choose another with --listen or --metrics-listen`;
  }
  if (code === 'EACCES' && port !== null) {
    return `port ${port} needs rights that control does not have; choose one above 1023 with --listen`;
  }
  if (error instanceof AggregateError && error.message === '') {
    return error.errors.map(describe).join(', ');
  }
  return error.message;
}
