import type { FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { HttpConfig } from './config.ts';
import { clientAddress } from '../input/client-address.ts';

/** Anyone can send the header, so that a stranger adds a line an hour to the log at most. */
const WARN_EVERY_MS = 3_600_000;

/**
 * Notices a proxy that nobody named: behind it, all clients are one source for limits, locks of sign-ins and keys that are
 * bound to sources.
 */
export class ForwardedWatch {
  readonly #log: Logger;
  #warnedAtMs = Number.NEGATIVE_INFINITY;
  #peer: string | null = null;

  constructor({ publicUrl, tls, trustedProxies }: HttpConfig, log: Logger) {
    this.#log = log;
    if (!publicUrl.startsWith('https:') || tls !== null || trustedProxies.length > 0) return;
    log.warn(
      { publicUrl },
      'the public URL is https and control serves plain HTTP, so a proxy must be in front: name it with --trusted-proxy, or all clients behind it count as one source',
    );
  }

  /** Counts every request, before its limit. */
  seen({ headers, ips, socket }: Pick<FastifyRequest, 'headers' | 'ips' | 'socket'>): void {
    // A trusted peer is followed by at least one address of the header.
    if (headers['x-forwarded-for'] === undefined || (ips !== undefined && ips.length > 1)) return;
    this.#peer = clientAddress(socket.remoteAddress);
    const now = performance.now();
    if (now - this.#warnedAtMs < WARN_EVERY_MS) return;
    this.#warnedAtMs = now;
    this.#log.warn({ peer: this.#peer }, this.problem() ?? '');
  }

  /** The last peer that sent the header without being trusted, as a sentence for the operator; null: none. */
  problem(): string | null {
    return this.#peer === null
      ? null
      : `X-Forwarded-For came from ${this.#peer}, which is no trusted proxy, and was ignored. If that is your proxy, start control with --trusted-proxy ${this.#peer} (or its network): all clients behind it count as one source until then.`;
  }
}
