import { Agent, request } from 'node:http';
import { Agent as TlsAgent, request as requestEncrypted } from 'node:https';

export interface ApiAnswer<T> {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: T;
}

interface Written {
  readonly data: { readonly ids: readonly number[] };
  readonly message: string;
}
export interface AddressRead {
  readonly data: { readonly rules: readonly { readonly id: number }[] };
}

export interface NewRule {
  readonly action: 'allow' | 'deny';
  readonly protocol: string;
  readonly destination_port?: string | null;
  readonly source_ip?: string | null;
}

const TIMEOUT_MS = 20_000;
/** Until a change is live: far above what any machine takes, because it only ends a wait for what never comes. */
const LIVE_MS = 90_000;

/** The public interface over a Unix socket, for a caller with a key. */
export class ApiClient {
  readonly #socketPath: string;
  readonly #key: string;
  readonly #isEncrypted: boolean;
  readonly #agent: Agent;

  /** `isEncrypted`: TLS with any certificate; what checks it is tested elsewhere. */
  constructor(
    socketPath: string,
    key: string,
    { isEncrypted = false, keepAlive = false }: { isEncrypted?: boolean; keepAlive?: boolean } = {},
  ) {
    this.#socketPath = socketPath;
    this.#key = key;
    this.#isEncrypted = isEncrypted;
    this.#agent = isEncrypted
      ? new TlsAgent({ keepAlive, rejectUnauthorized: false })
      : new Agent({ keepAlive });
  }

  call<T>(method: string, path: string, body?: object): Promise<ApiAnswer<T>> {
    const text = body === undefined ? '' : JSON.stringify(body);
    const headers = {
      authorization: `Bearer ${this.#key}`,
      ...(body === undefined
        ? {}
        : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
    };
    const options = {
      socketPath: this.#socketPath,
      agent: this.#agent,
      method,
      path,
      headers,
      timeout: TIMEOUT_MS,
    };
    return new Promise((resolve, reject) => {
      const send = this.#isEncrypted ? requestEncrypted : request;
      const sent = send(options, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const answer = Buffer.concat(chunks).toString();
          const parsed = (answer === '' ? null : JSON.parse(answer)) as T;
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body: parsed });
        });
      });
      sent.on('error', reject);
      sent.on('timeout', () => sent.destroy(new Error(`${method} ${path} took too long`)));
      sent.end(text);
    });
  }

  /** Creates rules and waits until the edge has them in its kernel; returns their ids. */
  async createRule(ip: string, rule: NewRule): Promise<readonly number[]> {
    const answer = await this.call<Written>('POST', `/api/v1/firewall/ips/${ip}/rules`, rule);
    if (answer.status !== 201)
      throw new Error(`a rule was refused: ${JSON.stringify(answer.body)}`);
    await this.live(ip, answer.headers);
    return answer.body.data.ids;
  }

  async deleteRules(ip: string, ids: readonly number[]): Promise<void> {
    const answer = await this.call<Written>('DELETE', `/api/v1/firewall/ips/${ip}/rules`, { ids });
    if (answer.status !== 200)
      throw new Error(`a delete was refused: ${JSON.stringify(answer.body)}`);
    await this.live(ip, answer.headers);
  }

  /** Applies a filter and waits until the edge has it in its kernel. */
  async createFilter(ip: string, type: string, port: string): Promise<void> {
    const filter = { type, port };
    const answer = await this.call<Written>('POST', `/api/v1/firewall/ips/${ip}/filters`, filter);
    if (answer.status !== 201)
      throw new Error(`a filter was refused: ${JSON.stringify(answer.body)}`);
    await this.live(ip, answer.headers);
  }

  async cancelMitigations(attack: number): Promise<void> {
    const { status, body } = await this.call('DELETE', `/api/x1/attacks/${attack}/mitigations`);
    if (status !== 200) throw new Error(`a cancellation was refused: ${JSON.stringify(body)}`);
  }

  /** Waits until an edge in service has everything of the address. */
  async enforced(ip: string): Promise<void> {
    const deadline = performance.now() + LIVE_MS;
    for (;;) {
      const { headers } = await this.call('GET', `/api/v1/firewall/ips/${ip}`);
      if (headers['portcullis-enforcement'] === 'full') return;
      if (performance.now() > deadline)
        throw new Error(`${ip} is not enforced: ${JSON.stringify(headers)}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  /** Waits until the generation that a write returned is live for the address. */
  async live(ip: string, written: ApiAnswer<unknown>['headers']): Promise<void> {
    await this.liveAt(ip, Number(written['portcullis-generation']));
  }

  /** Waits until reads of the address are at `generation` or newer, and returns the last one. */
  async liveAt(
    ip: string,
    generation: number,
    withinMs = LIVE_MS,
  ): Promise<ApiAnswer<AddressRead>> {
    const deadline = performance.now() + withinMs;
    for (;;) {
      const read = await this.call<AddressRead>('GET', `/api/v1/firewall/ips/${ip}`);
      if (Number(read.headers['portcullis-generation']) >= generation) return read;
      if (performance.now() > deadline) {
        throw new Error(
          `generation ${generation} is not live for ${ip}: ${JSON.stringify(read.headers)}`,
        );
      }
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}
