import { X509Certificate } from 'node:crypto';
import { chownSync, mkdirSync } from 'node:fs';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import * as acme from 'acme-client';
import type { Logger } from 'pino';
import type { Account } from '../db/embedded/account.ts';
import type { TlsConfig } from '../http/server/config.ts';
import { Challenges } from './challenges.ts';
import { createSelfSigned, type KeyAndCertificate } from '../certificates.ts';

export interface AutomaticTlsConfig {
  /** The name in the certificate: the host of the public URL. */
  readonly domain: string;
  /** Where the certificate authority writes to; null: nowhere. */
  readonly email: string | null;
  readonly directoryUrl: string;
  /** Where HTTP-01 is answered. */
  readonly httpListen: { readonly host: string; readonly port: number };
}

interface Options extends AutomaticTlsConfig {
  /** Keeps keys and certificates. */
  readonly folder: string;
  readonly publicUrl: string;
  readonly log: Logger;
}

const FIRST_RETRY_MS = 60_000;
/** Let's Encrypt takes five failures an hour. */
const LAST_RETRY_MS = 3_600_000;
/** A renewal is due after this share of the lifetime. */
const RENEWED_AFTER = 2 / 3;
const CHECK_MS = 3_600_000;

/** Before root is dropped: the folder belongs to the account that control becomes. */
export function prepareTlsFolder(folder: string, account: Account | null): void {
  mkdirSync(dirname(folder), { recursive: true, mode: account === null ? 0o700 : 0o711 });
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (account !== null) chownSync(folder, account.uid, account.gid);
}

/**
 * A certificate by ACME (RFC 8555), kept in files and renewed in time. Until there is one, and if it ran out, a self-signed one is
 * served, whose fingerprint is logged.
 */
export class AutomaticTls {
  readonly #challenges: Challenges;
  readonly #options: Options;
  #current: KeyAndCertificate;
  #onChange: (current: KeyAndCertificate) => void = () => {};
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;
  #retryMs = FIRST_RETRY_MS;

  private constructor(options: Options, challenges: Challenges, current: KeyAndCertificate) {
    this.#options = options;
    this.#challenges = challenges;
    this.#current = current;
  }

  /** Called as root, if control is started so: port 80 is for root. */
  static async open(options: Options): Promise<AutomaticTls> {
    const { folder, domain, httpListen, log } = options;
    const challenges = new Challenges(options.publicUrl);
    await challenges.listen(httpListen.host, httpListen.port).catch((error: unknown) => {
      const at = `${httpListen.host}:${httpListen.port}`;
      log.warn({ error }, `HTTP-01 cannot be answered at ${at}; TLS-ALPN-01 is used`);
    });
    const known = await readKept(folder, domain);
    const current = known ?? (await createSelfSigned(domain));
    if (known === null) {
      const { fingerprint256 } = new X509Certificate(current.cert);
      log.warn(
        `the certificate of ${domain} is self-signed until ${options.directoryUrl} gives one; its SHA-256 fingerprint is ${fingerprint256}`,
      );
    }
    return new AutomaticTls(options, challenges, current);
  }

  /** For the HTTPS server. */
  get config(): TlsConfig {
    return { ...this.#current, ...this.#challenges.tlsOptions };
  }

  /** Once HTTPS is served: orders the certificate, and renews it. */
  start(onChange: (current: KeyAndCertificate) => void): void {
    this.#onChange = onChange;
    this.#arm(0);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#challenges.close();
  }

  #arm(waitMs: number): void {
    if (this.#stopped) return;
    this.#timer = setTimeout(() => void this.#turn(), waitMs);
    this.#timer.unref();
  }

  async #turn(): Promise<void> {
    if (!isDue(this.#current.cert, new Date())) return this.#arm(CHECK_MS);
    const { log, domain } = this.#options;
    try {
      const next = await this.#order();
      this.#current = next;
      this.#onChange(next);
      this.#retryMs = FIRST_RETRY_MS;
      const { validTo } = new X509Certificate(next.cert);
      log.info({ domain, validTo }, 'a certificate was issued');
      this.#arm(CHECK_MS);
    } catch (error) {
      if (this.#stopped) return;
      const seconds = Math.round(this.#retryMs / 1_000);
      log.warn({ error, domain }, `no certificate was issued; trying again in ${seconds} s`);
      this.#arm(this.#retryMs);
      this.#retryMs = Math.min(this.#retryMs * 2, LAST_RETRY_MS);
    }
  }

  async #order(): Promise<KeyAndCertificate> {
    const { folder, domain, directoryUrl } = this.#options;
    const accountKey = await keptKey(join(folder, 'account.pem'));
    const client = new acme.Client({ directoryUrl, accountKey });
    const [key, csr] = await acme.crypto.createCsr(
      { commonName: domain, altNames: [domain] },
      await acme.crypto.createPrivateEcdsaKey(),
    );
    const cert = await this.#solve(client, csr);
    const next = { key: key.toString(), cert };
    await writeKept(folder, next);
    return next;
  }

  /** HTTP-01 first: a browser notices nothing of it. */
  async #solve(client: acme.Client, csr: Buffer): Promise<string> {
    const kinds = this.#challenges.isListening ? ['http-01', 'tls-alpn-01'] : ['tls-alpn-01'];
    let failure: unknown;
    for (const kind of kinds) {
      try {
        return await client.auto({
          csr,
          ...(this.#options.email !== null && { email: this.#options.email }),
          termsOfServiceAgreed: true,
          skipChallengeVerification: true,
          challengePriority: [kind],
          challengeCreateFn: async (authorization, { type, token }, answer) => {
            if (type === 'http-01') return this.#challenges.offerFile(token, answer);
            const [key, cert] = await acme.crypto.createAlpnCertificate(authorization, answer);
            this.#challenges.offerCertificate(authorization.identifier.value, key, cert);
          },
          challengeRemoveFn: async ({ identifier }, { token }) =>
            this.#challenges.withdraw(token, identifier.value),
        });
      } catch (error) {
        failure = error;
      }
    }
    throw failure;
  }
}

/** Self-signed, or two thirds of its time are over. */
function isDue(pem: string, now: Date): boolean {
  const { validFrom, validTo, subject, issuer } = new X509Certificate(pem);
  if (subject === issuer) return true;
  const from = Date.parse(validFrom);
  return now.getTime() >= from + (Date.parse(validTo) - from) * RENEWED_AFTER;
}

/** Null if there is none for this name that holds. */
async function readKept(folder: string, domain: string): Promise<KeyAndCertificate | null> {
  const text = await readFile(join(folder, 'certificate.json'), 'utf8').catch(() => null);
  if (text === null) return null;
  const kept = JSON.parse(text) as KeyAndCertificate;
  const certificate = new X509Certificate(kept.cert);
  const holds = Date.parse(certificate.validTo) > Date.now();
  return holds && certificate.checkHost(domain) !== undefined ? kept : null;
}

/** One file, so that key and certificate always match. */
async function writeKept(folder: string, next: KeyAndCertificate): Promise<void> {
  const path = join(folder, 'certificate.json');
  await writeFile(`${path}.new`, JSON.stringify(next), { mode: 0o600, flush: true });
  await rename(`${path}.new`, path);
}

async function keptKey(path: string): Promise<string> {
  const known = await readFile(path, 'utf8').catch(() => null);
  if (known !== null) return known;
  const key = (await acme.crypto.createPrivateEcdsaKey()).toString();
  await writeFile(path, key, { mode: 0o600, flush: true });
  return key;
}
