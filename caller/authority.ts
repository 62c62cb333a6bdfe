import type { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { once } from 'node:events';
import * as tls from 'node:tls';
import { CliError, EXIT, failed, unavailable, usageError } from './exit.ts';

const TIMEOUT_MS = 10_000;

/** Makes the connections of this process trust an authority, in PEM, beside those of the system. */
export function trust(pem: string): void {
  if (typeof tls.setDefaultCACertificates !== 'function') {
    throw failed('--ca needs Node.js 24.5 or newer; with an older one set NODE_EXTRA_CA_CERTS');
  }
  tls.setDefaultCACertificates([...tls.getCACertificates('default'), pem]);
}

/**
 * Finds the authority that `--ca` names: a PEM file, or the fingerprint of a certificate that the server at the URL sends
 * with its own. Returns its certificate in PEM.
 */
export async function findAuthority(text: string, url: string): Promise<string> {
  const fingerprint = normalise(text);
  if (/^[0-9a-f]{64}$/.test(fingerprint)) return fetchAuthority(fingerprint, url);
  const pem = readPem(text);
  if (pem.includes('-----BEGIN CERTIFICATE-----')) return pem;
  throw usageError(
    `--ca ${text} is neither a PEM file nor the SHA-256 fingerprint of an authority`,
  );
}

function readPem(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw usageError(
      `--ca ${file} is neither a file that can be read nor the SHA-256 fingerprint of an authority (${(error as Error).message})`,
    );
  }
}

/** Nothing is sent over this connection: it only shows what the server presents. */
async function fetchAuthority(fingerprint: string, url: string): Promise<string> {
  const { protocol, hostname, port } = new URL(url);
  if (protocol !== 'https:') throw usageError(`--ca is for https, and the URL is ${url}`);
  const host = hostname.replaceAll(/^\[|\]$/g, '');
  const socket = tls.connect({
    host,
    port: Number(port || 443),
    ...(/^[\d.]+$|:/.test(host) ? {} : { servername: host }),
    rejectUnauthorized: false,
    timeout: TIMEOUT_MS,
  });
  socket.once('timeout', () => socket.destroy(new Error('it does not answer')));
  try {
    await once(socket, 'secureConnect');
    const leaf = socket.getPeerX509Certificate();
    const issuer = leaf && issuerOf(leaf, fingerprint);
    if (issuer) return issuer.toString();
  } catch (error) {
    throw unavailable(`${url} cannot be reached: ${(error as Error).message}`, error);
  } finally {
    socket.destroy();
  }
  throw new CliError(
    EXIT.unavailable,
    `${url} shows a certificate of no authority with the fingerprint of --ca: nothing was sent to it. Is this the right URL?`,
  );
}

/** The authority with this fingerprint that issued a server's certificate and was sent with it; null if there is none. */
export function issuerOf(leaf: X509Certificate, fingerprint: string): X509Certificate | null {
  const isIt = (issuer: X509Certificate): boolean =>
    normalise(issuer.fingerprint256) === fingerprint &&
    issuer.ca &&
    leaf.checkIssued(issuer) &&
    leaf.verify(issuer.publicKey);
  return chainOf(leaf).find(isIt) ?? null;
}

/** The certificates that the server sent after its own. */
function chainOf(leaf: X509Certificate): X509Certificate[] {
  const chain: X509Certificate[] = [];
  for (let next = leaf.issuerCertificate; next !== undefined; next = next.issuerCertificate) {
    // A certificate that signed itself is its own issuer.
    if (chain.some(({ fingerprint256 }) => fingerprint256 === next.fingerprint256)) break;
    chain.push(next);
  }
  return chain;
}

function normalise(fingerprint: string): string {
  return fingerprint
    .replace(/^sha-?256:/i, '')
    .replaceAll(/[:\s]/g, '')
    .toLowerCase();
}

/** Codes of OpenSSL and Node.js for a certificate of an authority that is not trusted. */
const UNTRUSTED = new Set([
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
]);
const WRONG = new Set(['CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID', 'ERR_TLS_CERT_ALTNAME_INVALID']);

/** The fault of the certificate of a server that answered, and what to do; null if it is something else. */
export function certificateProblem(error: unknown): string | null {
  for (let at = error; at instanceof Error; at = at.cause) {
    const code = String((at as NodeJS.ErrnoException).code);
    if (UNTRUSTED.has(code)) {
      return 'it answers with a certificate that this host does not trust. If it is of the installation itself, give --ca with the fingerprint that "portcullis certificate" prints on the host of control';
    }
    if (WRONG.has(code))
      return `it answers with a certificate that is not valid here: ${at.message}`;
  }
  return null;
}
