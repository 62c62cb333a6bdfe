import { type Caller, type Identity, isCaller, personOf } from '../../access/index.ts';
import { subscriberBlock } from '@portcullis/core/net/subscriber.ts';
import { BoundedQueues, QueueFull, type QueueSize, type Waiter } from './bounded-queue.ts';
import { Problem } from '../../problem.ts';
import { inRequest } from './request-end.ts';

/**
 * Requests in work at once, and behind them. Few, because each may hold a connection of the database and a core; a whole
 * burst of a key may wait.
 */
const ORGANISATION: QueueSize = { running: 3, waiting: 120 };
/**
 * The queue of its owners, beside those: what they send never waits behind a flood of a key or a member, which they
 * are about to end.
 */
const OWNERS: QueueSize = { running: 2, waiting: 120 };
/**
 * An organisation has more in work while all together have fewer than this: the first of another one finds a
 * connection.
 */
const SPARE = 7;
/** The queue of requests that mostly wait for an agent, which may take seconds to answer or not to answer. */
const WAITING_FOR_AGENTS: QueueSize = { running: 16, waiting: 120 };
/** The queue of one source or person without an organisation. */
const ALONE: QueueSize = { running: 2, waiting: 12 };
/**
 * The queue of all sources together, and of all such people, those whose password is hashed apart: who signed in does
 * not wait behind strangers, and nobody who opens a page behind somebody's passwords.
 */
const ALL_ALONE: QueueSize = { running: 6, waiting: 40 };
const OPERATORS: QueueSize = { running: 4, waiting: 240 };

/** Whose request it is. */
export interface ShareOf {
  readonly by: Identity | null;
  readonly isOperator: boolean;
  /** The canonical address of the client; null if unknown. */
  readonly source: string | null;
  /** It waits for an agent, or for a hash. */
  readonly waits: boolean;
  /** The request, whose end drops it while it waits. */
  readonly request: Waiter;
}

export interface Shares {
  /** Serves a request in its share. Throws 429 or 503 with Retry-After when too many wait there. */
  run<T>(of: ShareOf, serve: () => Promise<T>): Promise<T>;
  /** The requests of an organisation that are in work. */
  readonly running: number;
}

/**
 * Gives every organisation the same share of this process, whatever the others send: its requests queue behind one
 * another, and those of its owners apart. So do those of operators, and of everybody without an organisation.
 */
export function createShares(): Shares {
  const organisations = new BoundedQueues<string>(ORGANISATION, { spare: SPARE });
  const owners = new BoundedQueues<string>(OWNERS);
  const waiting = new BoundedQueues<string>(WAITING_FOR_AGENTS);
  const sources = new BoundedQueues<string>(ALONE);
  const together = new BoundedQueues<string>(ALL_ALONE);
  const operators = new BoundedQueues<'all'>(OPERATORS);

  function enter<T>(of: ShareOf, serve: () => Promise<T>): Promise<T> {
    const { by, source, request } = of;
    if (of.isOperator) return operators.run('all', serve, request);
    if (isCaller(by)) {
      const queues = of.waits ? waiting : isOwner(by) ? owners : organisations;
      return queues.run(`${by.organisationId}`, serve, request);
    }
    const person = personOf(by);
    const key = person === null ? `source ${subscriberBlock(source ?? '')}` : `person ${person.id}`;
    const all = `${person === null ? 'sources' : 'people'} ${of.waits ? 'wait' : ''}`;
    return sources.run(key, () => together.run(all, serve, request), request);
  }

  return {
    async run(of, serve) {
      try {
        return await enter(of, () => inRequest(of.request, serve));
      } catch (error) {
        if (error instanceof QueueFull) throw refusal(error, of);
        throw error;
      }
    },
    get running() {
      return organisations.running + owners.running + waiting.running;
    },
  };
}

const RETRY_AFTER_SECONDS = 1;

/** An owner of the organisation, whose requests do not wait behind those of its keys and members. */
export function isOwner(by: Caller): boolean {
  return by.kind === 'member' && by.role === 'owner';
}

function refusal(full: QueueFull, { by }: ShareOf): Problem {
  const { waiting } = full.size;
  const headers = { 'retry-after': String(RETRY_AFTER_SECONDS) };
  const then = `Try again in ${RETRY_AFTER_SECONDS} s.`;
  if (!isCaller(by)) {
    return new Problem('unavailable', `Too many requests wait at the moment. ${then}`, {
      headers,
      cause: full,
    });
  }
  const there = `${waiting} requests of this organisation wait behind those in work`;
  return new Problem('rate_limited', `${there}. ${then}`, { headers });
}
