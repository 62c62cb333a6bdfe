import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { renderTar, type TarEntry } from './tar.ts';
import type { Namespace } from '../stack/netns.ts';

/** An image registry that Docker can pull from, with one image, on 127.0.0.1 of a namespace. */
export interface Registry {
  /** `127.0.0.1:port/name:tag`; Docker speaks plain HTTP to a loopback address. */
  readonly reference: string;
  /** A reference to an image that the registry does not have. */
  readonly missing: string;
  /** Withholds the layer until called with false. */
  stall(on: boolean): void;
  /** Serves another image under the same tag. */
  replaceImage(): void;
  /** Answers 401 without these credentials, `user:password`; null: none are needed. */
  requireLogin(credentials: string | null): void;
  stop(): void;
}

const MANIFEST = 'application/vnd.docker.distribution.manifest.v2+json';

export async function startRegistry(namespace: Namespace): Promise<Registry> {
  let image = renderImage('hello');
  let login: string | null = null;
  const waiting: (() => void)[] = [];
  let stalled = false;
  const server = createServer((asked, answer) => {
    const url = asked.url ?? '';
    const { layer, manifest, blobs } = image;
    if (login !== null && !hasLogin(asked, login)) {
      answer.writeHead(401, { 'WWW-Authenticate': 'Basic realm="lab"' }).end();
      return;
    }
    const name = url.split('/').at(-1) ?? '';
    const blob = name === '1' ? manifest : blobs.get(name);
    if (url === '/v2/') {
      answer.end('{}');
    } else if (blob === undefined || !url.includes('/game/')) {
      answer.writeHead(404).end('{"errors":[{"code":"MANIFEST_UNKNOWN"}]}');
    } else {
      const type = blob === manifest ? MANIFEST : 'application/octet-stream';
      const send = (): void => {
        answer.writeHead(200, {
          'Content-Type': type,
          'Content-Length': blob.length,
          'Docker-Content-Digest': digest(blob),
        });
        answer.end(asked.method === 'HEAD' ? undefined : blob);
      };
      if (stalled && blob === layer) waiting.push(send);
      else send();
    }
  });
  const { port } = await listen(namespace, server);
  return {
    reference: `127.0.0.1:${port}/game:1`,
    missing: `127.0.0.1:${port}/missing:1`,
    stall: (on) => {
      stalled = on;
      if (!on) for (const send of waiting.splice(0)) send();
    },
    replaceImage: () => void (image = renderImage('hello again')),
    requireLogin: (credentials) => void (login = credentials),
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

function hasLogin(asked: IncomingMessage, login: string): boolean {
  return asked.headers.authorization === `Basic ${Buffer.from(login).toString('base64')}`;
}

/** An image of one file. */
function renderImage(text: string): {
  layer: Buffer;
  manifest: Buffer;
  blobs: ReadonlyMap<string, Buffer>;
} {
  const files: TarEntry[] = [{ path: 'file', mode: 0o644, content: Buffer.from(`${text}\n`) }];
  const layer = renderTar(files);
  const config = Buffer.from(
    JSON.stringify({
      architecture: process.arch === 'arm64' ? 'arm64' : 'amd64',
      os: 'linux',
      config: { Cmd: ['/file'] },
      rootfs: { type: 'layers', diff_ids: [digest(layer)] },
    }),
  );
  const manifest = Buffer.from(
    JSON.stringify({
      schemaVersion: 2,
      mediaType: MANIFEST,
      config: describeBlob(config, 'application/vnd.docker.container.image.v1+json'),
      layers: [describeBlob(layer, 'application/vnd.docker.image.rootfs.diff.tar')],
    }),
  );
  const blobs = new Map([config, layer, manifest].map((blob) => [digest(blob), blob]));
  return { layer, manifest, blobs };
}

/** The thread binds inside, where the socket stays; with an address to look up it would bind later, outside. */
function listen(namespace: Namespace, server: Server): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    namespace.within(() => server.listen(0));
    server.once('listening', () => resolve(server.address() as AddressInfo));
  });
}

function describeBlob(blob: Buffer, mediaType: string): object {
  return { mediaType, size: blob.length, digest: digest(blob) };
}

function digest(blob: Buffer): string {
  return `sha256:${createHash('sha256').update(blob).digest('hex')}`;
}
