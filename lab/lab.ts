import { CLIENT, CONTAINER, createInternet, HOST, SERVER } from './stack/internet.ts';
import { missing } from './requirements.ts';
import { startServices } from './stack/services.ts';
import { API_PORT, startStack } from './stack/stack.ts';

/** `npm run lab` (root): a small internet with an enforcing edge in the middle, until Ctrl-C. */
const reason = missing(['root', 'netns', 'nft']);
if (reason !== null) {
  console.error(`lab: cannot run here: ${reason}`);
  process.exit(69);
}

const stopping = new Promise<void>((resolve) => {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => resolve());
});
console.log('Building namespaces and starting portcullis up --enforce ...');
const internet = createInternet('lab');
const services = startServices(internet);
try {
  const stack = await startStack(internet);
  try {
    console.log(whatToTry(stack.key, stack.dataDir));
    await stopping;
  } finally {
    await stack.stop();
  }
} finally {
  services.stop();
  internet.destroy();
  console.log('Everything is removed.');
}

function whatToTry(key: string, dataDir: string): string {
  const client = `ip netns exec ${internet.client.name}`;
  const edge = `ip netns exec ${internet.edge.name}`;
  const auth = `-H 'Authorization: Bearer ${key}'`;
  const rules = `http://127.0.0.1:${API_PORT}/api/v1/firewall/ips/${SERVER[4]}/rules`;
  return `
  client ${CLIENT[4]} ── edge (own ${HOST[4]}, published port ${CONTAINER.publishedPort}) ── server ${SERVER[4]}

Reach the server, over both families, and the published port of the container:
  ${client} curl -s --max-time 2 http://${SERVER[4]}/
  ${client} curl -s --max-time 2 http://[${SERVER[6]}]/
  ${client} curl -s --max-time 2 http://${HOST[4]}:${CONTAINER.publishedPort}/

Close port 80 to one source, and see the first line stop working:
  ${edge} curl -s ${auth} -H 'Content-Type: application/json' \\
    -d '{"action":"deny","protocol":"tcp","destination_port":"80","source_ip":"${CLIENT[4]}"}' ${rules}

What does an edge say of a packet, and what is in its kernel?
  ${edge} env PORTCULLIS_API_KEY=${key} ./portcullis explain ${SERVER[4]} --protocol tcp --port 80 --from ${CLIENT[4]}
  ${edge} nft list chains

Hands off, and on again:
  ${edge} ./portcullis edge off --data ${dataDir}
  ${edge} ./portcullis edge on --data ${dataDir}

Ctrl-C removes everything.`;
}
