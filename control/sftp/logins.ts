import { createHash } from 'node:crypto';
import type { ControlReply } from '@portcullis/link/messages/messages.ts';
import type {
  SftpCheck,
  SftpLogin,
  SftpReport,
  SftpRequest,
} from '@portcullis/link/messages/sftp.ts';
import { subscriberBlock } from '@portcullis/core/net/subscriber.ts';
import type { Db } from '../db/database.ts';
import { recordDone } from '../game-servers/index.ts';
import { TokenBuckets } from '../token-buckets.ts';
import { recordReport } from './activity.ts';
import { findCredential, findServer, loadRights, noteUse } from './store.ts';

/**
 * Refused logins of one source: a burst, and how many come back each second. A client that holds many keys offers them one
 * after the other.
 */
const TRIES = { capacity: 30, perSecond: 0.2 } as const;
/** Refused logins that are remembered; the oldest is forgotten first. */
const MAX_REFUSED = 10_000;
/** One answer for all reasons, so that a node learns as little as a client. */
const DENIED: ControlReply = {
  kind: 'sftp.denied',
  reason:
    'The person, the key or password, or the server is unknown, or the right to connect is missing.',
};
const TOO_MANY: ControlReply = {
  kind: 'sftp.denied',
  reason: 'Too many logins from this address were refused.',
};

/** Answers nodes about people who connect to their SFTP servers. */
export class SftpLogins {
  readonly #db: Db;
  readonly #tries: TokenBuckets;
  /** Digests of what was refused. */
  readonly #refused = new Set<string>();

  constructor(db: Db, nowMs?: () => number) {
    this.#db = db;
    this.#tries = new TokenBuckets(nowMs);
  }

  async answer(node: string, request: SftpRequest): Promise<ControlReply> {
    switch (request.kind) {
      case 'sftp.login':
        return this.#login(node, request);
      case 'sftp.activity':
        return this.#record(node, request);
      case 'sftp.check':
      default:
        return this.#check(node, request);
    }
  }

  /**
   * The same again is no new try: a file manager opens many connections, and offers the same wrong keys by each. Nothing can be
   * guessed so.
   */
  async #login(node: string, login: SftpLogin): Promise<ControlReply> {
    const source = subscriberBlock(login.source);
    const digest = digestOf(node, login);
    const isRepeated = this.#refused.has(digest);
    // Taken before the look-up, so that many at once cannot pass together.
    if (!isRepeated && !this.#tries.take(source, TRIES).isTaken) return TOO_MANY;
    const reply = await this.#admit(node, login);
    if (reply.kind !== 'sftp.admitted') this.#noteRefused(digest);
    else if (!isRepeated) this.#tries.giveBack(source, TRIES);
    return reply;
  }

  #noteRefused(digest: string): void {
    this.#refused.add(digest);
    const [oldest] = this.#refused;
    if (this.#refused.size > MAX_REFUSED && oldest !== undefined) this.#refused.delete(oldest);
  }

  async #admit(node: string, login: SftpLogin): Promise<ControlReply> {
    const { method, proved, source } = login;
    const credential = await findCredential(this.#db, login);
    const server = await findServer(this.#db, node, login.server);
    if (credential === null || server === null) return DENIED;
    const session = {
      person: credential.personId,
      server,
      credential: `${method}:${credential.id}`,
    };
    const [rights = null] = await loadRights(this.#db, node, [session]);
    if (rights === null) return DENIED;
    const { email: actor } = credential;
    if (proved) {
      await this.#db.transaction().execute(async (tx) => {
        await noteUse(tx, method, credential.id);
        const by = { kind: 'user', name: actor, source, door: 'sftp' } as const;
        await recordDone(tx, server, by, { action: 'sftp.connect', detail: { method } });
      });
    }
    return { kind: 'sftp.admitted', session, actor, rights };
  }

  async #check(node: string, { sessions }: SftpCheck): Promise<ControlReply> {
    return { kind: 'sftp.rights', rights: await loadRights(this.#db, node, sessions) };
  }

  async #record(node: string, report: SftpReport): Promise<ControlReply> {
    await recordReport(this.#db, node, report);
    return { kind: 'done' };
  }
}

function digestOf(node: string, { email, server, method, secret, source }: SftpLogin): string {
  const text = JSON.stringify([node, email, server, method, secret, subscriberBlock(source)]);
  return createHash('sha256').update(text).digest('base64');
}
