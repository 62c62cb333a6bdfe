import type { Log } from '@portcullis/core/log.ts';
import type { AgentSide } from '@portcullis/link/transport/transport.ts';
import { request } from './request.ts';

/** Set by a supervisor that saves what `{ kind: 'credential' }` brings, and starts the agent again with it. */
export const RENEW_VARIABLE = 'PORTCULLIS_RENEW';
const ASK_MS = 24 * 3_600_000;

/**
 * Asks control for another credential at every connection and once a day, and sends it to the supervisor of this process.
 * Control keeps the present one until the new one is presented.
 */
export function renewCredentials(link: AgentSide, log: Log): void {
  if (process.env[RENEW_VARIABLE] === undefined) return;
  const ask = (): void => {
    request(link, { kind: 'agent.renew' }, 'renewal').then(
      ({ credential }) => {
        if (credential === null || !process.connected) return;
        log.info({}, 'control has another credential; starting again with it');
        process.send?.({ kind: 'credential', credential });
      },
      // It asks again at the next connection: an older control does not know the request.
      (error: unknown) => log.debug({ error }, 'control was not asked for another credential'),
    );
  };
  link.onConnect(ask);
  setInterval(ask, ASK_MS).unref();
}
