/** How the listener stands in the world. Read from the environment and flags elsewhere; only values here. */
export interface HttpConfig {
  readonly listen: { readonly host: string; readonly port: number };
  /** Base of every absolute link, without a trailing slash: never taken from a request's Host. */
  readonly publicUrl: string;
  /** Addresses and CIDRs of proxies whose `X-Forwarded-For` is believed; empty: nobody's. */
  readonly trustedProxies: readonly string[];
  /** PEM texts; null serves plain HTTP, for loopback and for a proxy that ends TLS. */
  readonly tls: { readonly cert: string; readonly key: string } | null;
  /** Listener of /metrics, apart from the API; null: none. */
  readonly metrics: { readonly host: string; readonly port: number } | null;
  /** Without them, those below. */
  readonly timeouts?: HttpTimeouts;
}

/** How long a client is waited for. */
export interface HttpTimeouts {
  /** For the whole head of a request. */
  readonly headersMs: number;
  /** For the whole request. */
  readonly requestMs: number;
  /** For the next request on a connection. */
  readonly keepAliveMs: number;
  /** How often the first two are looked at. */
  readonly checkEveryMs: number;
}

export const DEFAULT_LISTEN = { host: '127.0.0.1', port: 8080 } as const;
export const DEFAULT_METRICS_LISTEN = { host: '127.0.0.1', port: 9464 } as const;

/** The largest body of the contract is a replace with a few thousand rules, well below this. */
export const BODY_LIMIT_BYTES = 512 * 1024;
/** Request line and headers together. */
export const HEADER_LIMIT_BYTES = 16 * 1024;

/** A slow client is cut off rather than waited for. */
export const HEADERS_TIMEOUT_MS = 10_000;
export const REQUEST_TIMEOUT_MS = 30_000;
export const TIMEOUT_CHECK_MS = 5_000;
/** Longer than proxies keep theirs, so that it is not us who close under a request. */
export const KEEP_ALIVE_TIMEOUT_MS = 75_000;
/** How long a stopping server waits for requests under way. */
export const DRAIN_TIMEOUT_MS = 10_000;
