import type { ControlReply } from '@portcullis/link/messages/messages.ts';
import type { SftpCheck, SftpLogin, SftpRequest } from '@portcullis/link/messages/sftp.ts';
import { subscriberBlock } from '@portcullis/core/net/subscriber.ts';
import type { Db } from '../db/database.ts';
import { recordDone } from '../game-servers/index.ts';
import { TokenBuckets } from '../token-buckets.ts';
import { findCredential, findServer, loadRights, noteUse } from './store.ts';

/**
 * Refused logins of one source: a burst, and how many come back each second. A client that holds many keys offers them one
 * after the other.
 */
const TRIES = { capacity: 30, perSecond: 0.2 } as const;
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

  constructor(db: Db, nowMs?: () => number) {
    this.#db = db;
    this.#tries = new TokenBuckets(nowMs);
  }

  answer(node: string, request: SftpRequest): Promise<ControlReply> {
    return request.kind === 'sftp.login' ? this.#login(node, request) : this.#check(node, request);
  }

  async #login(node: string, login: SftpLogin): Promise<ControlReply> {
    const source = subscriberBlock(login.source);
    // Taken before the look-up, so that many at once cannot pass together.
    if (!this.#tries.take(source, TRIES).isTaken) return TOO_MANY;
    const reply = await this.#admit(node, login);
    if (reply.kind === 'sftp.admitted') this.#tries.giveBack(source, TRIES);
    return reply;
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
        await recordDone(tx, server, by, 'sftp.connect', { method });
      });
    }
    return { kind: 'sftp.admitted', session, actor, rights };
  }

  async #check(node: string, { sessions }: SftpCheck): Promise<ControlReply> {
    return { kind: 'sftp.rights', rights: await loadRights(this.#db, node, sessions) };
  }
}
