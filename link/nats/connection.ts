import {
  AuthorizationError,
  connect,
  type ConnectionOptions,
  type NatsConnection,
  type TlsOptions,
} from '@nats-io/transport-node';
import { connect as connectTcp } from 'node:net';
import { checkServerIdentity, type PeerCertificate } from 'node:tls';
import { LinkError, MAX_MESSAGE_BYTES } from '../transport/transport.ts';
import type { NatsKey } from './keys.ts';

export { AuthorizationError, type NatsConnection };

/** How a process reaches the NATS servers. */
export interface NatsAccess {
  /** URLs such as `tls://nats.example.net:4222`; any one of a cluster suffices. */
  readonly servers: readonly string[];
  /** The key that it signs with, which `jwt` is about. */
  readonly key: NatsKey;
  readonly jwt: string;
  /** The certificate authority in PEM; null: plain TCP, or the authorities of the system for `tls://`. */
  readonly ca: string | null;
}

const DEFAULT_PORT = 4222;
const CONNECT_TIMEOUT_MS = 5_000;
const PING_MS = 5_000;
const RECONNECT_MS = 500;
/** After a refusal, which only another credential ends. */
const REFUSED_RETRY_MS = 15_000;

/** The server cannot be used as it is configured, in words for its operator. */
export class UnfitServer extends Error {
  override readonly name = 'UnfitServer';
}

/**
 * Connects once; afterwards the connection reconnects by itself until it is closed. Rejects with `UnfitServer`, or with
 * an error of the library when no server can be reached or none admits this key.
 */
export async function openConnection(
  access: NatsAccess,
  {
    isRefused = () => false,
    ...options
  }: Pick<ConnectionOptions, 'name' | 'inboxPrefix'> & {
    /** Whether the servers refused the key at the last attempt: then the next one is later. */
    readonly isRefused?: () => boolean;
  },
): Promise<NatsConnection> {
  const { key, jwt } = access;
  const connection = await connect({
    ...serverOptions(access),
    ...options,
    authenticator: (nonce) => ({ jwt, sig: key.sign(nonce ?? '') }),
    maxReconnectAttempts: -1,
    // A credential that is revoked may be replaced by the time of the next attempt.
    ignoreAuthErrorAbort: true,
    reconnectDelayHandler: () => retryMs(isRefused()),
    pingInterval: PING_MS,
    maxPingOut: 2,
  });
  const { max_payload: maxPayload = 0 } = connection.info ?? {};
  if (maxPayload < MAX_MESSAGE_BYTES) {
    await connection.close();
    throw new UnfitServer(
      `The NATS server takes messages of ${maxPayload} bytes at most. Set max_payload to ${MAX_MESSAGE_BYTES} or more in its configuration.`,
    );
  }
  return connection;
}

/** Why no TCP connection to a server can be opened, in words; null if one can. */
export function whyUnreachable(url: string): Promise<string | null> {
  const { hostname, port } = new URL(url);
  const host = hostname.replaceAll(/^\[|\]$/g, '');
  const socket = connectTcp({ host, port: Number(port || DEFAULT_PORT) });
  socket.setTimeout(CONNECT_TIMEOUT_MS, () => socket.destroy(new Error('no answer')));
  return new Promise<string | null>((resolve) => {
    socket.once('connect', () => resolve(null));
    socket.once('error', ({ message }) => resolve(message));
  }).finally(() => socket.destroy());
}

function isEncrypted(servers: readonly string[]): boolean {
  return servers.some((url) => url.startsWith('tls:'));
}

/** With jitter, so that the agents of a fleet do not all reconnect at once. */
export function retryMs(isRefused: boolean): number {
  return (isRefused ? REFUSED_RETRY_MS : RECONNECT_MS) * (1 + Math.random());
}

/** Rejects with `UnfitServer` if the server admits a client without a credential. */
export async function requireAuthentication(access: NatsAccess): Promise<void> {
  const connection = await connect({ ...serverOptions(access), reconnect: false }).catch(
    () => null,
  );
  if (connection === null) return;
  await connection.close();
  throw new UnfitServer(
    'The NATS server admits everybody, so anything could pose as control or an edge. Give it the configuration that "portcullis nats config" writes.',
  );
}

function serverOptions({ servers, ca }: NatsAccess): ConnectionOptions {
  return {
    servers: [...servers],
    timeout: CONNECT_TIMEOUT_MS,
    // With these options the library refuses a server that does not encrypt.
    ...(isEncrypted(servers) && { tls: tlsOptions(servers, ca) }),
  };
}

/**
 * Accepts a certificate for any of the servers: in a cluster the library also connects to addresses that the servers name,
 * and for an address it would compare with "localhost".
 */
function tlsOptions(servers: readonly string[], ca: string | null): TlsOptions {
  const hosts = servers.map((url) => new URL(url).hostname.replaceAll(/^\[|\]$/g, ''));
  const options = {
    ...(ca !== null && { ca }),
    checkServerIdentity(_host: string, certificate: PeerCertificate): Error | undefined {
      const failures = hosts.map((host) => checkServerIdentity(host, certificate));
      return failures.includes(undefined) ? undefined : failures[0];
    },
  };
  return options;
}

export function encode(envelope: object, maxBytes: number = MAX_MESSAGE_BYTES): Buffer {
  const body = Buffer.from(JSON.stringify(envelope), 'utf8');
  if (body.length <= maxBytes) return body;
  throw new LinkError('too_large', `a message of ${body.length} bytes; ${maxBytes} is the limit`);
}

/** Decodes a body: what is not a JSON object becomes an empty one, which no reader takes for a message. */
export function decode(body: Uint8Array): Record<string, unknown> {
  try {
    return Object(JSON.parse(Buffer.from(body.buffer, body.byteOffset, body.length).toString()));
  } catch {
    return {};
  }
}
