import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';

/**
 * A lean HTTP/1.1 load generator: keep-alive connections, one request under way on each, raw bytes out,
 * responses delimited by Content-Length. It spends little, so that on a small machine the figure is the server's.
 *
 * Runs as a process of its own: reads a Load as JSON from standard input, prints a LoadResult as JSON.
 */
export interface Load {
  readonly host: string;
  readonly port: number;
  readonly connections: number;
  readonly durationMs: number;
  /** Requests are sent in turn, each connection beginning at another. */
  readonly requests: readonly string[];
  /** The local addresses of the connections, in turn. */
  readonly sources?: readonly string[];
  /** A connection that the server closes is opened again, and counts as `closed`; otherwise the load fails. */
  readonly reconnects?: boolean;
}
export interface LoadResult {
  readonly requestsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly statuses: Readonly<Record<string, number>>;
}

if (import.meta.main) {
  const load = JSON.parse(readFileSync(0, 'utf8')) as Load;
  console.log(JSON.stringify(await runLoad(load)));
}

async function runLoad(load: Load): Promise<LoadResult> {
  const statuses: Record<string, number> = {};
  const latencies: number[] = [];
  const requests = load.requests.map((text) => Buffer.from(text));
  const begin = performance.now();
  const until = begin + load.durationMs;
  const done = (status: string, ms: number): void => {
    statuses[status] = (statuses[status] ?? 0) + 1;
    latencies.push(ms);
  };
  await Promise.all(
    Array.from({ length: load.connections }, (_, index) => {
      const step = Math.floor(requests.length / load.connections) || 1;
      const source = load.sources?.[index % load.sources.length];
      return keepConnection({ ...load, source }, requests, index * step, until, done);
    }),
  );
  const seconds = (performance.now() - begin) / 1000;
  latencies.sort((a, b) => a - b);
  const at = (share: number): number => latencies[Math.floor(latencies.length * share)] ?? 0;
  return {
    requestsPerSecond: latencies.length / seconds,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    statuses,
  };
}

async function keepConnection(...of: Parameters<typeof runConnection>): Promise<void> {
  const [load, , , until, done] = of;
  for (;;) {
    const began = performance.now();
    try {
      return await runConnection(...of);
    } catch (error) {
      if (load.reconnects !== true) throw error;
      done('closed', performance.now() - began);
      if (performance.now() >= until) return;
    }
  }
}

function runConnection(
  { host, port, source }: Load & { readonly source: string | undefined },
  requests: readonly Buffer[],
  first: number,
  until: number,
  done: (status: string, ms: number) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket: Socket = connect({ host, port, ...(source && { localAddress: source }) });
    socket.setNoDelay(true);
    let next = first;
    let sent = 0;
    let status = '';
    /** Bytes of the response under way that are still to come; negative: its head is. */
    let missing = -1;
    const send = (): void => {
      missing = -1;
      sent = performance.now();
      socket.write(requests[next++ % requests.length] as Buffer);
    };
    socket.on('connect', send);
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('the server closed the connection')));
    let head = Buffer.alloc(0);
    socket.on('data', (chunk) => {
      if (missing < 0) {
        const bytes = head.length === 0 ? chunk : Buffer.concat([head, chunk]);
        const response = readHead(bytes);
        head = response === null ? bytes : Buffer.alloc(0);
        if (response === null) return;
        status = response.status;
        missing = response.bytes - bytes.length;
      } else missing -= chunk.length;
      if (missing > 0) return;
      const now = performance.now();
      done(status, now - sent);
      if (now < until) send();
      else {
        resolve();
        socket.end();
      }
    });
  });
}

/** The status, and the length of head and body together; null: the head is not whole yet. */
function readHead(bytes: Buffer): { status: string; bytes: number } | null {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return null;
  const head = bytes.subarray(0, end);
  const at = Math.max(head.indexOf('content-length: '), head.indexOf('Content-Length: '));
  const length = at < 0 ? 0 : Number.parseInt(head.toString('latin1', at + 16, at + 28), 10);
  return { status: head.toString('latin1', 9, 12), bytes: end + 4 + length };
}
