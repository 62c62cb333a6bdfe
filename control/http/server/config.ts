import type { TlsOptions } from 'node:tls';
import { MOST } from '@portcullis/contract/body-limits.ts';

/** The configuration of the listener; environment and flags are read elsewhere. */
export interface HttpConfig {
  readonly listen: { readonly host: string; readonly port: number };
  /** The base of absolute links, without a trailing slash; never from a request's Host. */
  readonly publicUrl: string;
  /** Addresses and CIDRs of proxies whose `X-Forwarded-For` is trusted; empty: none. */
  readonly trustedProxies: readonly string[];
  /** PEM texts; null serves plain HTTP, for loopback or behind a TLS proxy. */
  readonly tls: TlsConfig | null;
  /** The separate listener of /metrics. Null: none. */
  readonly metrics: { readonly host: string; readonly port: number } | null;
  /** Default: `DEFAULT_TIMEOUTS`. */
  readonly timeouts?: HttpTimeouts;
}

export interface TlsConfig extends Pick<TlsOptions, 'SNICallback' | 'ALPNCallback'> {
  readonly cert: string;
  readonly key: string;
}

/** Timeouts for clients. */
export interface HttpTimeouts {
  /** For the complete request head. */
  readonly headersMs: number;
  /** For the complete request. */
  readonly requestMs: number;
  /** For the next request on a connection. */
  readonly keepAliveMs: number;
  /** The check interval of the first two. */
  readonly checkEveryMs: number;
}

export const DEFAULT_LISTEN = { host: '127.0.0.1', port: 8080 } as const;
export const DEFAULT_METRICS_LISTEN = { host: '127.0.0.1', port: 9464 } as const;

/** The body of a path without a row; each row has its own, of at most this (`bodyLimitOf`). */
export const BODY_LIMIT_BYTES = MOST.bytes;
/** Request line and headers together. */
export const HEADER_LIMIT_BYTES = 16 * 1024;

/** Slow clients are disconnected. */
export const DEFAULT_TIMEOUTS: HttpTimeouts = {
  headersMs: 10_000,
  requestMs: 30_000,
  // Longer than the keep-alive of proxies, so that the server does not close during a request.
  keepAliveMs: 75_000,
  checkEveryMs: 5_000,
};
/** How long a request takes at most, from the last byte of its body. */
export const DEADLINE_MS = 10_000;
/** How long a stopping server waits for running requests. */
export const DRAIN_TIMEOUT_MS = 10_000;
