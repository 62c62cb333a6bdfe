import type { Logger } from 'pino';
import { becomeAccount } from './root-rights.ts';
import type { ControlConfig } from './config/config.ts';
import { type Control, createControl } from './control.ts';
import { redact } from './log.ts';

/** sysexits(3): the configuration is wrong; something needed cannot be had. */
export const EXIT_CONFIG = 78;
export const EXIT_UNAVAILABLE = 69;
const EXIT_CRASH = 70;

/** The whole stop is bounded: a supervisor's patience ends too. */
const STOP_MS = 14_000;

/**
 * Runs control in this process until a signal or the end of its supervisor stops it; resolves with the exit code.
 * A parent with an IPC channel is told `{ kind: 'ready', url, facts }`.
 */
export async function runControl(config: ControlConfig, log: Logger): Promise<number> {
  const control = createControl(config, log, { giveUpRoot: becomeAccount });
  dieOfBugs(log);
  const stopAsked = stopRequested();
  const starting = control.start();
  try {
    const early = await Promise.race([starting.then(() => null), stopAsked]);
    if (early === null) announceReady({ ...(await starting) }, log);
    const why = early ?? (await stopAsked);
    log.info({ why }, 'control stops');
    await starting.catch(() => {});
    await stopWithin(control);
    return 0;
  } catch (error) {
    log.debug({ error }, 'control could not start');
    process.stderr.write(`portcullis control: cannot start: ${redact(inOneLine(error))}\n`);
    return EXIT_UNAVAILABLE;
  }
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
    // A supervisor that was killed can say nothing, but its end of the channel closes.
    if (process.connected) process.once('disconnect', () => resolve('its supervisor is gone'));
  });
}

async function stopWithin(control: Control): Promise<void> {
  const late = setTimeout(() => process.exit(EXIT_CRASH), STOP_MS);
  await control.stop();
  clearTimeout(late);
}

/** A process in an unknown state serves nobody: it says why and ends, and its supervisor starts another. */
function dieOfBugs(log: Logger): void {
  const die = (error: unknown): void => {
    log.fatal({ error }, 'a bug ends this process');
    process.exit(EXIT_CRASH);
  };
  process.once('uncaughtException', die);
  process.once('unhandledRejection', die);
}

const MAX_CAUSES = 5;

/** An error and its causes, as one line without stack. */
export function inOneLine(error: unknown): string {
  const parts: string[] = [];
  // Counted by steps, not by parts: an error can be its own cause.
  for (let at = error, step = 0; at !== undefined && step < MAX_CAUSES; step += 1) {
    const message = inWords(at);
    if (message !== '' && !parts.includes(message)) parts.push(message);
    at = at instanceof Error ? at.cause : undefined;
  }
  return parts.join(': ').replace(/\s+/g, ' ').trim();
}

function inWords(error: unknown): string {
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
    return error.errors.map(inWords).join(', ');
  }
  return error.message;
}
