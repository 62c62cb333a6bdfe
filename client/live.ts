import { NotEnforcedError, TimeoutError } from './errors.ts';
import { sleep } from './retry.ts';
import { within } from './transport.ts';
import type { KeyClient, WaitUntilLiveOptions } from './types.ts';

const FIRST_LOOK_MS = 250;
const MAX_LOOK_MS = 5_000;
const TIMEOUT_MS = 600_000;

/**
 * Looks at what is live until it has reached the generation, at growing intervals. It ends at once where no edge
 * enforces: a host that only observes may do so for ever.
 */
export async function waitUntilLive(
  client: Pick<KeyClient, 'readAcceptedAddress' | 'listHeldAddresses'>,
  generation: number | null,
  { ip, signal, timeoutMs = TIMEOUT_MS }: WaitUntilLiveOptions = {},
): Promise<void> {
  if (generation === null) {
    throw new TypeError('There is no generation to wait for: pass that of a firewall write.');
  }
  const where = ip === undefined ? 'everywhere' : `on ${ip}`;
  await within({ timeoutMs, signal }, async (ending) => {
    for (let wait = FIRST_LOOK_MS; ; wait = Math.min(MAX_LOOK_MS, wait * 2)) {
      const live = await look(ending);
      if (live === null) {
        throw new NotEnforcedError(
          `Generation ${generation} is accepted and waits for an edge: none enforces ${where} now.`,
        );
      }
      if (live >= generation) return;
      await sleep(wait, ending);
    }
  }).catch((error: unknown) => {
    if (!(error instanceof TimeoutError)) throw error;
    throw new TimeoutError(
      `Generation ${generation} is not live ${where} after ${timeoutMs} ms. It is accepted, and edges apply it when they can.`,
    );
  });

  async function look(ending: AbortSignal): Promise<number | null> {
    if (ip === undefined) {
      const held = await client.listHeldAddresses({ query: { per_page: 1 } }, { signal: ending });
      return held.response.generation;
    }
    const { meta } = await client.readAcceptedAddress({ ip }, { signal: ending });
    return meta.live_generation;
  }
}
