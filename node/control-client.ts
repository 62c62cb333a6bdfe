import { request } from '@portcullis/agent/request.ts';
import type { Egg } from '@portcullis/core/game-servers/egg.ts';
import type { ServerAssignment } from '@portcullis/core/game-servers/power.ts';
import { type ControlReply, PROTOCOL_VERSION } from '@portcullis/link/messages/messages.ts';
import type { CallerOnServer, FileRightsReply } from '@portcullis/link/messages/files.ts';
import type { NodeHeartbeat, NodePage, NodeWelcome } from '@portcullis/link/messages/node.ts';
import type {
  SftpAdmitted,
  SftpLine,
  SftpLogin,
  SftpRights,
  SftpSessionRef,
} from '@portcullis/link/messages/sftp.ts';
import type { AgentSide } from '@portcullis/link/transport/transport.ts';
import type { Assignments } from './journal/record.ts';

const MAX_PAGES = 10_000;
/** A client waits no longer. */
const LOGIN_MS = 8_000;

/** The node's requests to control; each may reject with `LinkError` or `RefusedByControl`. */
export class ControlClient {
  readonly #link: AgentSide;
  readonly #instance: string;

  constructor(link: AgentSide, instance: string) {
    this.#link = link;
    this.#instance = instance;
  }

  hello(): Promise<NodeWelcome> {
    const hello = {
      kind: 'node.hello',
      protocolVersion: PROTOCOL_VERSION,
      instance: this.#instance,
    } as const;
    return request(this.#link, hello, 'node.welcome');
  }

  /** Returns null if the assignments that the node holds are up to date. */
  async sync(held: Assignments | null): Promise<Assignments | null> {
    const servers: ServerAssignment[] = [];
    const eggs: Record<string, Egg> = {};
    let page = await this.#page(held?.revision ?? null, null);
    if (page.unchanged && held !== null) return null;
    const { revision } = page;
    for (let pages = 1; ; pages += 1) {
      if (page.revision !== revision) throw new Error('the pages of one sync differ in revision');
      servers.push(...page.servers);
      Object.assign(eggs, page.eggs);
      if (page.next === null) return { revision, servers, eggs, purge: page.purge };
      if (pages >= MAX_PAGES) throw new Error('a sync does not end');
      page = await this.#page(held?.revision ?? null, page.next);
    }
  }

  async heartbeat(message: Omit<NodeHeartbeat, 'kind' | 'instance'>): Promise<void> {
    const heartbeat = { kind: 'node.heartbeat', instance: this.#instance, ...message } as const;
    await request(this.#link, heartbeat, 'done');
  }

  async sftpLogin(
    login: Omit<SftpLogin, 'kind'>,
  ): Promise<SftpAdmitted | Extract<ControlReply, { kind: 'sftp.denied' }>> {
    const reply = await this.#link.request({ kind: 'sftp.login', ...login }, LOGIN_MS);
    if (reply.kind === 'sftp.admitted' || reply.kind === 'sftp.denied') return reply;
    const detail = reply.kind === 'refused' ? reply.detail : 'Control does not know SFTP.';
    return { kind: 'sftp.denied', reason: detail };
  }

  /** In the order of the sessions; null: it has ended. */
  async sftpCheck(sessions: readonly SftpSessionRef[]): Promise<SftpRights['rights']> {
    const check = { kind: 'sftp.check', sessions } as const;
    return (await request(this.#link, check, 'sftp.rights')).rights;
  }

  /** Reports what people did by SFTP. */
  async sftpActivity(batch: string, lines: readonly SftpLine[]): Promise<void> {
    await request(this.#link, { kind: 'sftp.activity', batch, lines }, 'done');
  }

  /** The rights to files that callers have now, in their order. */
  async filesCheck(callers: readonly CallerOnServer[]): Promise<FileRightsReply['rights']> {
    const check = { kind: 'files.check', callers } as const;
    return (await request(this.#link, check, 'files.rights')).rights;
  }

  #page(revision: string | null, cursor: string | null): Promise<NodePage> {
    const sync = { kind: 'node.sync', instance: this.#instance, revision, cursor } as const;
    return request(this.#link, sync, 'node.page');
  }
}
