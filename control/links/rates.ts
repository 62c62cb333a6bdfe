import type { AgentRef, AgentRequest } from '@portcullis/link/messages/messages.ts';
import type { AgentHandler } from '@portcullis/link/transport/transport.ts';
import { type BucketSize, TokenBuckets } from '../token-buckets.ts';

/**
 * How often one agent may send a request of each kind, far above what an agent does. A new kind does not compile without
 * its rate.
 */
const RATES: Readonly<Record<AgentRequest['kind'] | 'greeting', BucketSize>> = {
  greeting: { capacity: 20, perSecond: 2 },
  'agent.renew': { capacity: 5, perSecond: 1 },
  'edge.hello': { capacity: 20, perSecond: 2 },
  'node.hello': { capacity: 20, perSecond: 2 },
  'collector.hello': { capacity: 20, perSecond: 2 },
  // Pages of a million rules.
  'edge.sync': { capacity: 1_000, perSecond: 100 },
  'node.sync': { capacity: 200, perSecond: 50 },
  'detection.getSettings': { capacity: 500, perSecond: 50 },
  // Each write of the fleet is one.
  'edge.confirm': { capacity: 200, perSecond: 50 },
  'edge.heartbeat': { capacity: 20, perSecond: 2 },
  'node.heartbeat': { capacity: 20, perSecond: 2 },
  // A file manager opens many connections at once, and asks for each key that it has.
  'sftp.login': { capacity: 200, perSecond: 50 },
  'sftp.check': { capacity: 50, perSecond: 10 },
  'sftp.activity': { capacity: 20, perSecond: 2 },
  'files.check': { capacity: 50, perSecond: 10 },
  'collector.report': { capacity: 20, perSecond: 2 },
  'edge.drops': { capacity: 40, perSecond: 5 },
  // A bucket of samples is a quarter of a second.
  'watch.samples': { capacity: 100, perSecond: 20 },
  'edge.attacks': { capacity: 50, perSecond: 5 },
};

/**
 * Slows agents down to their rates. A request beyond the rate waits for its turn; of each agent and kind only the newest
 * waits, so the last state wins. An agent sends the next one when it has an answer, so it is only delayed.
 */
export class AgentRates {
  readonly #buckets: TokenBuckets;
  /** How to replace each request that waits. */
  readonly #waiting = new Map<string, () => void>();

  constructor(nowMs?: () => number) {
    this.#buckets = new TokenBuckets(nowMs);
  }

  /** Resolves at the turn of the request; with false if a newer one has taken it. */
  async turn({ kind, name }: AgentRef, what: keyof typeof RATES): Promise<boolean> {
    const key = `${kind}/${name} ${what}`;
    const size = RATES[what];
    const before = this.#waiting.get(key);
    if (before === undefined && this.#buckets.take(key, size).isTaken) return true;
    before?.();
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        if (!this.#buckets.take(key, size).isTaken) {
          timer.refresh();
          return;
        }
        this.#waiting.delete(key);
        resolve(true);
      }, 1_000 / size.perSecond);
      timer.unref();
      const replace = (): void => {
        clearTimeout(timer);
        resolve(false);
      };
      this.#waiting.set(key, replace);
    });
  }

  /** A handler of requests at their rates. */
  limit(handler: AgentHandler): AgentHandler {
    return async (from, request) => {
      if (await this.turn(from, request.kind)) return handler(from, request);
      const detail = 'This agent sends more than control takes; a newer request has replaced it.';
      return { kind: 'refused', code: 'unavailable', detail };
    };
  }
}
