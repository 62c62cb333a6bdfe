import { connect, createServer } from 'node:net';

/*
 * Short connections as of a proxy or a school: `crowd-process.ts serve` answers on port 80, and `crowd-process.ts SOURCES TARGET RATE
 * SECONDS` (sources separated by commas) makes RATE connections a second in turn from each source, and prints how many were
 * opened and how many were served.
 */

const REQUEST = 'GET / HTTP/1.0\r\nHost: example.org\r\n\r\n';
const RESPONSE = 'HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok';
/** Retransmissions of a loaded machine fit in, and a dropped source does not come back. */
const PATIENCE_MS = 15_000;
const PERIOD_MS = 10;

const [first = '', target = '', rate = '0', seconds = '0'] = process.argv.slice(2);

if (first === 'serve') {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => socket.end(RESPONSE));
  });
  server.listen({ port: 80, host: '::', backlog: 4_096 }, () => console.log('ready'));
} else {
  const sources = first.split(',');
  const results: Promise<boolean>[] = [];
  const total = Number(rate) * Number(seconds);
  const begin = performance.now();
  while (results.length < total) {
    const due = Math.min(total, ((performance.now() - begin) / 1000) * Number(rate));
    while (results.length < due) results.push(request(sources[results.length % sources.length]));
    await new Promise((resolve) => setTimeout(resolve, PERIOD_MS));
  }
  const served = (await Promise.all(results)).filter(Boolean).length;
  console.log(JSON.stringify({ opened: total, served }));
}

function request(localAddress: string | undefined): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: target, port: 80, localAddress });
    let isServed = false;
    const timer = setTimeout(() => socket.destroy(), PATIENCE_MS);
    socket.on('connect', () => socket.write(REQUEST));
    socket.on('data', (data) => {
      isServed ||= data.toString().startsWith('HTTP/1.0 200');
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      clearTimeout(timer);
      resolve(isServed);
    });
  });
}
