import { createServer } from 'node:http';
import { sendMessage } from '@portcullis/control/webhooks/send.ts';

/**
 * A control host: serves at all of its addresses, calls a webhook at each of the arguments, and prints the addresses at
 * which it was called and the results, as JSON.
 */
const reached: string[] = [];
const server = createServer((request, response) => {
  reached.push(request.socket.localAddress ?? '');
  response.writeHead(204).end();
});
server.listen(0, '::', () => void run());

async function run(): Promise<void> {
  const at = server.address();
  const port = at !== null && typeof at === 'object' ? at.port : 0;
  const options = { networks: [], timeoutMs: 1_000 };
  const { signal } = new AbortController();
  const results = await Promise.all(
    process.argv.slice(2).map((host) => {
      return sendMessage(
        { url: `http://${host}:${port}/`, headers: {}, body: '{}' },
        options,
        signal,
      );
    }),
  );
  process.stdout.write(JSON.stringify({ reached, results }));
  server.close();
}
