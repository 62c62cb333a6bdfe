import { createHash } from 'node:crypto';
import type { ControlReply } from '@portcullis/link/messages/messages.ts';
import type { SftpAdmitted, SftpLogin } from '@portcullis/link/messages/sftp.ts';

/** Logins that are remembered; the oldest is forgotten first. */
const MAX_REMEMBERED = 1_000;

export type Login = Omit<SftpLogin, 'kind'>;
export type LoginReply = SftpAdmitted | Extract<ControlReply, { kind: 'sftp.denied' }>;

/**
 * Asks control about logins, and remembers those that it admitted, because a file manager opens many connections at once. A
 * refusal is never remembered: the key may be added in the next moment.
 */
export class LoginCache {
  readonly #ask: (login: Login) => Promise<LoginReply>;
  readonly #admitted = new Map<string, SftpAdmitted>();
  /** Requests to control that wait; the same login shares one. */
  readonly #waiting = new Map<string, Promise<LoginReply>>();
  #version = 0;

  constructor(ask: (login: Login) => Promise<LoginReply>) {
    this.#ask = ask;
  }

  /** Counts the calls of `forget`: an answer may be of the rights before. */
  get version(): number {
    return this.#version;
  }

  async login(login: Login): Promise<LoginReply> {
    const key = keyOf(login);
    return this.#admitted.get(key) ?? this.#request(key, login);
  }

  /** Called when rights may have changed. */
  forget(): void {
    this.#version += 1;
    this.#admitted.clear();
    this.#waiting.clear();
  }

  async #request(key: string, login: Login): Promise<LoginReply> {
    const shared = `${key} ${login.proved}`;
    const version = this.#version;
    const waiting = this.#waiting.get(shared) ?? this.#ask(login);
    this.#waiting.set(shared, waiting);
    try {
      const reply = await waiting;
      // Only a proved one: control records the others neither as used nor in the activity.
      const isGood = reply.kind === 'sftp.admitted' && login.proved;
      if (isGood && version === this.#version) this.#remember(key, reply);
      return reply;
    } finally {
      if (this.#waiting.get(shared) === waiting) this.#waiting.delete(shared);
    }
  }

  #remember(key: string, reply: SftpAdmitted): void {
    this.#admitted.set(key, reply);
    const [oldest] = this.#admitted.keys();
    if (this.#admitted.size > MAX_REMEMBERED && oldest !== undefined) this.#admitted.delete(oldest);
  }
}

/** A digest, so that no password stays in memory. The address is a part of it: a person at another one is another login. */
function keyOf({ email, server, method, secret, source }: Login): string {
  const text = JSON.stringify([email, server, method, secret, source]);
  return createHash('sha256').update(text).digest('base64');
}
