import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { createSecureContext, type SecureContext } from 'node:tls';

const PATH = '/.well-known/acme-challenge/';
/** RFC 8737. */
const ACME_PROTOCOL = 'acme-tls/1';

/**
 * Challenges that the certificate authority asks for: files by HTTP (HTTP-01), or a certificate in a handshake
 * (TLS-ALPN-01).
 */
export class Challenges {
  readonly #files = new Map<string, string>();
  readonly #certificates = new Map<string, SecureContext>();
  readonly #publicUrl: string;
  #server: Server | null = null;

  /** Other requests by plain HTTP are sent to the public URL. */
  constructor(publicUrl: string) {
    this.#publicUrl = publicUrl;
  }

  /** Whether HTTP-01 can be answered. */
  get isListening(): boolean {
    return this.#server !== null;
  }

  /** Rejects if the port cannot be had. */
  async listen(host: string, port: number): Promise<void> {
    const server = createServer({ requestTimeout: 10_000 }, (request, response) => {
      const path = request.url ?? '/';
      const file = path.startsWith(PATH) ? this.#files.get(path.slice(PATH.length)) : undefined;
      if (file !== undefined) return response.end(file);
      // A path of the caller's own choice could lead elsewhere.
      return response.writeHead(308, { location: `${this.#publicUrl}/` }).end();
    });
    server.listen({ host, port });
    await once(server, 'listening');
    this.#server = server;
  }

  async close(): Promise<void> {
    const server = this.#server;
    if (server === null) return;
    this.#server = null;
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }

  offerFile(token: string, content: string): void {
    this.#files.set(token, content);
  }

  offerCertificate(domain: string, key: Buffer | string, cert: Buffer | string): void {
    this.#certificates.set(domain, createSecureContext({ key, cert }));
  }

  withdraw(token: string, domain: string): void {
    this.#files.delete(token);
    this.#certificates.delete(domain);
  }

  /** For the HTTPS server. A name that is being challenged has the challenge's certificate for these seconds. */
  readonly tlsOptions = {
    SNICallback: (
      name: string,
      done: (error: Error | null, context?: SecureContext) => void,
    ): void => done(null, this.#certificates.get(name)),
    ALPNCallback: ({ protocols }: { readonly protocols: readonly string[] }): string | undefined =>
      [ACME_PROTOCOL, 'h2', 'http/1.1'].find((protocol) => protocols.includes(protocol)),
  };
}
