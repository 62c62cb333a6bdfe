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
      return runConnection(load, requests, index * step, until, done);
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

function runConnection(
  load: Load,
  requests: readonly Buffer[],
  first: number,
  until: number,
  done: (status: string, ms: number) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket: Socket = connect(load.port, load.host);
    socket.setNoDelay(true);
    let next = first;
    let sent = 0;
    let pending = Buffer.alloc(0);
    const send = (): void => {
      sent = performance.now();
      socket.write(requests[next++ % requests.length] as Buffer);
    };
    socket.on('connect', send);
    socket.on('error', reject);
    socket.on('data', (chunk) => {
      pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
      const response = readResponse(pending);
      if (response === null) return;
      pending = pending.subarray(response.bytes);
      const now = performance.now();
      done(response.status, now - sent);
      if (now < until) send();
      else socket.end(resolve);
    });
  });
}

function readResponse(bytes: Buffer): { status: string; bytes: number } | null {
  const head = bytes.indexOf('\r\n\r\n');
  if (head < 0) return null;
  const text = bytes.toString('latin1', 0, head);
  const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0);
  const total = head + 4 + length;
  return bytes.length < total ? null : { status: text.slice(9, 12), bytes: total };
}
