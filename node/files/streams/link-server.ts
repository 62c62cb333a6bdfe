import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { type SecureContextOptions, Server as TlsServer } from 'node:tls';
import {
  headOfArchive,
  headOfFile,
  rangeOf,
} from '@portcullis/core/game-servers/files/download-headers.ts';
import { describeError, type Log } from '@portcullis/core/log.ts';
import { sourceOf, subscriberBlock } from '@portcullis/core/net/subscriber.ts';
import { bytesTag } from '@portcullis/link/file-tags.ts';
import { isLingering, lingerAfter } from '@portcullis/link/linger.ts';
import type { FileOperationOf, FileRefusalCode } from '@portcullis/link/messages/files.ts';
import { releaseWritten } from '@portcullis/link/release-bytes.ts';
import type { Gate } from '../gate.ts';
import { FileRefusal } from '../refusal.ts';
import type { FileService, FileServiceOptions } from '../service.ts';
import type { FileLinks, Linked } from './links.ts';
import { receiveFile } from './receive.ts';
import { type Destination, sendArchive, sendFile } from './send.ts';

const MAX_CONNECTIONS = 256;
/** Connections of one source, where no proxy is in front. */
const MAX_OF_SOURCE = 32;
/** Streams of one caller at once, on all servers of the node. */
const MAX_OF_CALLER = 16;
const HEADERS_MS = 10_000;
const CHECK_MS = 2_000;
/** A stream in which nothing moves for this long is given up. */
const STALL_MS = 120_000;
const AGAIN_MS = 10_000;
const RENEW_MS = 60_000;
const PATH = /^\/files\/([\w-]{43})$/;

export interface LinkServerOptions {
  readonly listen: { readonly host: string; readonly port: number };
  /** The PEM files of its certificate; null: plain HTTP, for a proxy that speaks TLS. */
  readonly tls: { readonly cert: string; readonly key: string } | null;
  readonly links: FileLinks;
  readonly files: FileService;
  readonly checkCallers: FileServiceOptions['checkCallers'];
  /** Called when links begin to be served, and when they end to be. */
  readonly onChange: () => void;
  readonly log: Log;
}

/** The server of a node to which callers connect with links, to fetch and to send files. */
export class LinkServer {
  readonly #options: LinkServerOptions;
  readonly #ofCaller = new Map<string, number>();
  readonly #ofSource = new Map<string, number>();
  readonly #sockets = new Set<Socket>();
  readonly #listening = Promise.withResolvers<number>();
  #server: Server | null = null;
  #pem: SecureContextOptions | null = null;
  #isStopped = false;
  #again: NodeJS.Timeout | undefined;
  #renewing: NodeJS.Timeout | undefined;

  constructor(options: LinkServerOptions) {
    this.#options = options;
  }

  /** Begins to listen, and tries again where it cannot. */
  start(): void {
    const { listen, tls, links, log, onChange } = this.#options;
    const fail = (error: unknown): void => {
      if (this.#isStopped) return;
      log.error({ error: describeError(error) }, 'links to files are not served; trying again');
      this.#again = setTimeout(() => this.start(), AGAIN_MS).unref();
    };
    try {
      const server = this.#create();
      this.#server = server;
      server.once('error', fail);
      server.listen(listen, () => {
        server.off('error', fail);
        server.on('error', (error) => log.warn({ error }, 'links to files'));
        const { port } = server.address() as AddressInfo;
        links.isServed = true;
        if (tls !== null) this.#renewing = setInterval(() => this.renew(), RENEW_MS).unref();
        log.info({ port }, 'links to files are served');
        this.#listening.resolve(port);
        onChange();
      });
    } catch (error) {
      fail(error);
    }
  }

  /** The port, once it listens. */
  get listening(): Promise<number> {
    return this.#listening.promise;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#again);
    clearInterval(this.#renewing);
    this.#options.links.isServed = false;
    const server = this.#server;
    if (server === null) return;
    const closed = new Promise((resolve) => server.close(resolve));
    // The server does not know those whose handshake goes on.
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  /** Throws where the certificate cannot be read. */
  #create(): Server {
    const serve = (request: IncomingMessage, response: ServerResponse): void => {
      // Behind the last request of its connection.
      if (isLingering(request.socket)) request.socket.destroy();
      else void this.#serve(request, response);
    };
    const bounds = {
      headersTimeout: HEADERS_MS,
      // Files may take long: a stream is given up when nothing moves.
      requestTimeout: 0,
      connectionsCheckingInterval: CHECK_MS,
      maxHeaderSize: 8_192,
    };
    this.#pem = this.#readPem();
    const server =
      this.#pem === null
        ? createServer(bounds, serve)
        : createTlsServer({ ...bounds, ...this.#pem, handshakeTimeout: HEADERS_MS }, serve);
    server.maxConnections = MAX_CONNECTIONS;
    server.on('connection', (socket: Socket) => this.#admit(socket));
    server.setTimeout(STALL_MS, (socket) => socket.destroy());
    return server;
  }

  /** Closes a connection of a source that has too many, where no proxy is in front. */
  #admit(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    if (this.#pem === null) return;
    const source = subscriberBlock(sourceOf(socket));
    const count = this.#ofSource.get(source) ?? 0;
    if (count >= MAX_OF_SOURCE) {
      socket.destroy();
      return;
    }
    this.#ofSource.set(source, count + 1);
    socket.once('close', () => {
      const left = (this.#ofSource.get(source) ?? 1) - 1;
      if (left === 0) this.#ofSource.delete(source);
      else this.#ofSource.set(source, left);
    });
  }

  #readPem(): { readonly cert: string; readonly key: string } | null {
    const { tls } = this.#options;
    if (tls === null) return null;
    return { cert: readFileSync(tls.cert, 'utf8'), key: readFileSync(tls.key, 'utf8') };
  }

  /** Takes a certificate that was renewed. One that cannot be used leaves the one before. */
  renew(): void {
    try {
      const pem = this.#readPem();
      if (pem === null || (pem.cert === this.#pem?.cert && pem.key === this.#pem.key)) return;
      if (this.#server instanceof TlsServer) this.#server.setSecureContext(pem);
      this.#pem = pem;
      this.#options.log.info({}, 'the certificate of links to files was renewed');
    } catch (error) {
      this.#options.log.warn({ error }, 'the certificate of links to files was not renewed');
    }
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { links } = this.#options;
    const token = PATH.exec(request.url ?? '')?.[1];
    if (token === undefined) return refuse(response, 404, 'Not found.');
    // A look at a link, such as that of a chat program, does not use it up.
    if (request.method !== 'GET' && request.method !== 'PUT')
      return refuse(response, 405, 'Only GET and PUT.');
    const download = request.method === 'GET' ? links.find(token, 'makeLink') : null;
    if (download !== null)
      return this.#use(token, download, response, (gate) =>
        send(gate, download, request, response),
      );
    const upload = request.method === 'PUT' ? links.find(token, 'makeUploadLink') : null;
    if (upload === null) return refuse(response, 404, USELESS);
    return this.#use(token, upload, response, (gate) => receive(gate, upload, request, response));
  }

  /**
   * Checks the rights again, which may have ended since the link was made, then uses it up: where control does not answer, it
   * stays good. Never rejects.
   */
  async #use(
    token: string,
    link: Linked,
    response: ServerResponse,
    begin: (gate: Gate) => Promise<unknown>,
  ): Promise<void> {
    const { links, files, checkCallers, log } = this.#options;
    const { uuid, caller } = link;
    try {
      this.#count(caller, response);
      const [rights] = await checkCallers([{ server: uuid, caller }]).catch((cause: unknown) => {
        const detail = 'Control does not answer, so the link was not used: try again.';
        throw new FileRefusal('unavailable', detail, { cause });
      });
      // One whose client has left is not used up, and ends no upload.
      if (response.destroyed) return;
      if (!links.use(token)) return refuse(response, 404, USELESS);
      await files.use(uuid, { rights: new Set(rights), caller }, begin);
      const operation = link.operation.kind === 'makeLink' ? 'download' : 'upload';
      files.record(uuid, caller, { door: 'url', operation, outcome: 'begun' });
      // The right may have ended while control answered.
      void files.checkRights();
    } catch (error) {
      const { code, reason } = files.refusalOf(uuid, error);
      log.debug({ error: describeError(error) }, 'a link was refused');
      refuse(response, STATUSES[code] ?? 409, reason);
    }
  }

  /** Counts a stream of a caller until its connection ends. Throws a refusal above the limit. */
  #count(caller: string, response: ServerResponse): void {
    const count = this.#ofCaller.get(caller) ?? 0;
    if (count >= MAX_OF_CALLER)
      throw new FileRefusal('busy', `${MAX_OF_CALLER} uploads and downloads of yours run already.`);
    this.#ofCaller.set(caller, count + 1);
    response.once('close', () => {
      const left = (this.#ofCaller.get(caller) ?? 1) - 1;
      if (left === 0) this.#ofCaller.delete(caller);
      else this.#ofCaller.set(caller, left);
    });
  }
}

const USELESS = 'This link was used, has expired, or never was.';

function send(
  gate: Gate,
  { operation: { paths, format } }: Linked<FileOperationOf<'makeLink'>>,
  { headers }: IncomingMessage,
  response: ServerResponse,
): Promise<unknown> {
  const [path = ''] = paths;
  const to: Destination = {
    id: randomUUID(),
    isDirect: true,
    async send(file, source, signal) {
      const head =
        file === null
          ? { status: 200, headers: headOfArchive(paths, format ?? 'zip') }
          : headOfFile(path, bytesTag(file.tag), file);
      response.writeHead(head.status, { ...head.headers, ...ONCE });
      if (file !== null) releaseWritten(response);
      await pipeline(source, response, { signal });
    },
  };
  if (format !== null) return sendArchive(gate, { paths, format }, to);
  const ifRange = headers['if-range'];
  const isMeant = (tag: string): boolean => ifRange === undefined || ifRange === bytesTag(tag);
  return sendFile(gate, { path, range: rangeOf(headers.range ?? null), isMeant }, to);
}

/** Begins to receive what the caller sends, and answers it when that has ended. */
async function receive(
  gate: Gate,
  { operation }: Linked<FileOperationOf<'makeUploadLink'>>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const id = randomUUID();
  const { transfers } = gate.files;
  await receiveFile(gate, operation, { id, isDirect: true, receive: async () => request });
  void transfers.ended(id).then(
    ({ received, size, isWhole }) => {
      const data = { path: operation.path, received, size, done: isWhole };
      response.writeHead(200, { 'content-type': 'application/json', ...ONCE });
      response.end(JSON.stringify({ data }));
    },
    // What was received is kept, and control says why no more was taken.
    () => response.destroy(),
  );
}

/** A response that nobody keeps, and the last one of its connection. */
const ONCE = {
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  connection: 'close',
} as const;

const STATUSES: Partial<Record<FileRefusalCode, number>> = {
  not_found: 404,
  forbidden: 403,
  denied: 403,
  changed: 412,
  too_large: 413,
  quota: 413,
  range: 416,
  busy: 429,
  unavailable: 503,
  lost: 503,
};

function refuse(response: ServerResponse, status: number, text: string): void {
  if (response.headersSent) return void response.destroy();
  lingerAfter(response.req);
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', ...ONCE });
  response.end(`${text}\n`);
}
