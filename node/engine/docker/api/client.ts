import { Agent, type IncomingMessage, request } from 'node:http';
import type { Duplex } from 'node:stream';
import { EngineError } from '../../engine.ts';
import { DockerRefusal } from './errors.ts';

/** Docker's answer to a call: a status of 2xx or an expected one. */
export interface Answer {
  readonly status: number;
  /** Parsed JSON, or null. */
  readonly body: unknown;
}

export interface Call {
  readonly query?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
  readonly limitMs?: number;
  /** Other statuses that are answers instead of refusals. */
  readonly expected?: readonly number[];
  readonly signal?: AbortSignal;
}

/** The limits that end a call: its time, or the caller. */
interface Limits {
  readonly deadline: AbortSignal;
  readonly signal?: AbortSignal;
}
interface Sending extends Call, Limits {
  /** False: its own connection. */
  readonly agent?: false;
}

/** A connection that Docker handed over: a console. */
export interface Hijacked {
  readonly socket: Duplex;
  /** Bytes that arrived with the headers. */
  readonly head: Buffer;
}

/** The used fields of `GET /info`. */
interface InfoJson {
  readonly SecurityOptions?: readonly string[] | null;
  readonly DockerRootDir?: string;
}

/** An account of this host. */
export interface HostAccount {
  readonly uid: number;
  readonly gid: number;
}

interface VersionJson {
  readonly Version?: string;
  readonly ApiVersion?: string;
  readonly MinAPIVersion?: string;
}

/** The default timeout of a call. */
export const CALL_MS = 15_000;
const MAX_BODY_BYTES = 16 * 1024 * 1024;
const MAX_ERROR_BYTES = 64 * 1024;

/**
 * Docker's HTTP API over its Unix socket, in the newest version that both sides support. Each call ends within its timeout
 * with an answer, a `DockerRefusal` or an `EngineError` (`unreachable`, `timeout`, `aborted`).
 */
export class DockerClient {
  readonly socketPath: string;
  readonly callMs: number;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 32 });
  #version: Promise<string> | null = null;
  #mappedRoot: Promise<HostAccount | null> | null = null;

  constructor(socketPath: string, callMs = CALL_MS) {
    this.socketPath = socketPath;
    this.callMs = callMs;
  }

  async call(method: string, path: string, options: Call = {}): Promise<Answer> {
    const deadline = AbortSignal.timeout(options.limitMs ?? this.callMs);
    const target = `/v${await this.#negotiated()}${path}${render(options.query)}`;
    return this.#exchange(method, target, { ...options, deadline });
  }

  /** A streamed answer; the timeout covers only its headers. The caller destroys it. */
  async stream(method: string, path: string, options: Call = {}): Promise<IncomingMessage> {
    const target = `/v${await this.#negotiated()}${path}${render(options.query)}`;
    const { deadline, done } = deadlineOf(options.limitMs ?? this.callMs);
    try {
      const answer = await this.#send(method, target, { ...options, deadline, agent: false });
      if ((answer.statusCode ?? 0) < 300) return answer;
      settle(answer, await this.#read(answer, MAX_ERROR_BYTES, { ...options, deadline }));
      throw new DockerRefusal(answer.statusCode ?? 0, 'an unexpected redirect');
    } finally {
      done();
    }
  }

  /**
   * Takes over the connection. The request declares an empty body, because the bytes of a body would arrive on the
   * standard input of the process (dockerode#742).
   */
  async hijack(path: string, query: Readonly<Record<string, string>>): Promise<Hijacked> {
    const target = `/v${await this.#negotiated()}${path}${render(query)}`;
    const { deadline, done } = deadlineOf(this.callMs);
    const headers = { Connection: 'Upgrade', Upgrade: 'tcp', 'Content-Length': '0' };
    const sent = request({
      socketPath: this.socketPath,
      method: 'POST',
      path: target,
      headers,
      agent: false,
      signal: deadline,
    });
    try {
      const { promise, resolve, reject } = Promise.withResolvers<Hijacked>();
      sent.once('upgrade', (_answer, socket, head) => resolve({ socket, head }));
      sent.once('error', (error) => reject(this.#failure(error, { deadline })));
      sent.once('response', (answer) => {
        this.#read(answer, MAX_ERROR_BYTES, { deadline })
          .then((text) => settle(answer, text))
          .then(() => reject(new EngineError('refused', 'Docker gave no console.')))
          .catch(reject);
      });
      sent.end();
      return await promise;
    } finally {
      done();
    }
  }

  /** Resolves when Docker answers. Uses its own connection, so that it does not wait for other calls. */
  async ping(limitMs: number): Promise<void> {
    const deadline = AbortSignal.timeout(Math.min(limitMs, this.callMs));
    await this.#exchange('GET', '/_ping', { deadline, agent: false });
  }

  /**
   * The account of this host that root of a container is, where Docker runs containers in a user namespace
   * (`userns-remap`); null where it does not.
   */
  mappedRoot(): Promise<HostAccount | null> {
    if (this.#mappedRoot === null) {
      const asked = this.call('GET', '/info').then(({ body }) => parseMappedRoot(body));
      asked.catch(() => {
        if (this.#mappedRoot === asked) this.#mappedRoot = null;
      });
      this.#mappedRoot = asked;
    }
    return this.#mappedRoot;
  }

  /** Asks again for what it knows of the engine, which may have been replaced. */
  forgetVersion(): void {
    this.#version = null;
    this.#mappedRoot = null;
  }

  close(): void {
    this.#agent.destroy();
  }

  async version(): Promise<{ readonly engine: string; readonly api: string }> {
    const deadline = AbortSignal.timeout(this.callMs);
    const body = (await this.#exchange('GET', '/version', { deadline })).body as VersionJson;
    const newest = body.ApiVersion ?? '';
    try {
      return {
        engine: body.Version ?? 'unknown',
        api: chooseVersion(newest, body.MinAPIVersion ?? newest),
      };
    } catch (error) {
      throw new EngineError('refused', `This Docker cannot be used: ${(error as Error).message}.`);
    }
  }

  #negotiated(): Promise<string> {
    if (this.#version === null) {
      const version = this.version().then(({ api }) => api);
      version.catch(() => {
        if (this.#version === version) this.#version = null;
      });
      this.#version = version;
    }
    return this.#version;
  }

  /** The deadline covers the whole answer. */
  async #exchange(method: string, target: string, sending: Sending): Promise<Answer> {
    const answer = await this.#send(method, target, sending);
    const limit = answer.statusCode === 200 ? MAX_BODY_BYTES : MAX_ERROR_BYTES;
    const text = await this.#read(answer, limit, sending);
    return settle(answer, text, sending.expected);
  }

  #send(method: string, path: string, sending: Sending): Promise<IncomingMessage> {
    const { body, headers, signal, deadline, agent = this.#agent } = sending;
    const bytes = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
    const entity =
      bytes === undefined
        ? {}
        : { 'Content-Type': 'application/json', 'Content-Length': bytes.length };
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const sent = request({
      socketPath: this.socketPath,
      method,
      path,
      headers: { ...entity, ...headers },
      agent,
      signal: signal === undefined ? deadline : AbortSignal.any([deadline, signal]),
    });
    sent.once('response', resolve);
    sent.on('error', (error) => reject(this.#failure(error, sending)));
    sent.end(bytes);
    return promise;
  }

  async #read(answer: IncomingMessage, maxBytes: number, limits: Limits): Promise<string> {
    const chunks: Buffer[] = [];
    let bytes = 0;
    try {
      for await (const chunk of answer as AsyncIterable<Buffer>) {
        bytes += chunk.length;
        if (bytes > maxBytes)
          throw new EngineError('refused', 'Docker sent an answer that is too large.');
        chunks.push(chunk);
      }
    } catch (error) {
      throw this.#failure(error, limits);
    }
    return Buffer.concat(chunks).toString();
  }

  #failure(error: unknown, { deadline, signal }: Limits): EngineError {
    if (error instanceof EngineError) return error;
    const options = { cause: error };
    if (signal?.aborted) return new EngineError('aborted', 'It was cancelled.', options);
    if (deadline.aborted)
      return new EngineError('timeout', 'Docker did not answer in time.', options);
    this.forgetVersion();
    return new EngineError('unreachable', `Docker does not answer at ${this.socketPath}.`, options);
  }
}

/** Docker names the folder of its data by the account: `/var/lib/docker/165536.165536`. */
export function parseMappedRoot(info: unknown): HostAccount | null {
  const { SecurityOptions: options, DockerRootDir: folder } = (info ?? {}) as InfoJson;
  if (options?.some((option) => /^name=userns(?:,|$)/.test(option)) !== true) return null;
  const [, uid, gid] = /\/(\d{1,10})\.(\d{1,10})$/.exec(folder ?? '') ?? [];
  if (uid === undefined)
    throw new EngineError(
      'refused',
      'Docker runs containers in a user namespace and does not say of which account.',
    );
  return { uid: Number(uid), gid: Number(gid) };
}

function settle(answer: IncomingMessage, text: string, expected: readonly number[] = []): Answer {
  const status = answer.statusCode ?? 0;
  const body = text === '' ? null : parseJson(text);
  if ((status >= 200 && status < 300) || expected.includes(status)) return { status, body };
  const message = (body as { readonly message?: unknown } | null)?.message;
  throw new DockerRefusal(status, typeof message === 'string' ? message : `status ${status}`);
}

/** Returns null for an answer that is not JSON, such as `OK`. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function render(query: Readonly<Record<string, string>> = {}): string {
  const text = new URLSearchParams(query).toString();
  return text === '' ? '' : `?${text}`;
}

/** A deadline that can be cancelled, for a connection that outlives it. */
function deadlineOf(limitMs: number): { readonly deadline: AbortSignal; done: () => void } {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(), limitMs);
  return { deadline: controller.signal, done: () => clearTimeout(timer) };
}

const DEFAULT_SOCKET = '/var/run/docker.sock';

/** Path of the socket that `DOCKER_HOST` names, or Docker's usual one. Throws on anything but a unix socket. */
export function parseDockerHost(host: string | undefined): string {
  if (host === undefined || host === '') return DEFAULT_SOCKET;
  const [, path] = /^unix:\/\/(\/.+)$/.exec(host) ?? [];
  if (path === undefined)
    throw new RangeError(`Docker is spoken to by a unix socket only, not ${JSON.stringify(host)}`);
  return path;
}

/** Versions 1.x of Docker's API that this client was written for; what it uses has not changed between them. */
const OLDEST = 40;
const NEWEST = 51;

/**
 * The version to speak: the newest that both know. Throws where there is none. Engines drop old versions (Docker 29
 * takes nothing before 1.44) and refuse newer ones, so that none can be fixed here.
 */
export function chooseVersion(newest: string, oldest: string): string {
  const chosen = Math.min(minorOf(newest), NEWEST);
  if (chosen < OLDEST) throw new RangeError(`its API ${newest} is older than 1.${OLDEST}`);
  if (chosen < minorOf(oldest))
    throw new RangeError(`its API begins with ${oldest}, after 1.${NEWEST}`);
  return `1.${chosen}`;
}

function minorOf(version: string): number {
  const [, minor] = /^1\.(\d{1,4})$/.exec(version) ?? [];
  if (minor === undefined)
    throw new RangeError(
      `it says that its API is of version ${JSON.stringify(version.slice(0, 20))}`,
    );
  return Number(minor);
}
