import { createSocket } from 'node:dgram';
import { decode } from '@portcullis/collector/decode/decode.ts';
import { Exporter } from '@portcullis/collector/exporter/exporter.ts';
import { formatAddress } from '@portcullis/core/net/address.ts';

/**
 * `node reports-process.ts PORT PACKETS`: reads exports, and prints `{ ip, atMs }` once for each destination, when that many packets
 * to it were reported. Nobody who reads these exports can know of them sooner.
 */
const [port = 0, enough = 0] = process.argv.slice(2).map(Number);
const exporter = new Exporter('127.0.0.1');
const packets = new Map<string, number>();
const socket = createSocket({ type: 'udp4', recvBufferSize: 4_000_000 });
socket.on('message', (bytes, { port: from }) => {
  decode(bytes, {
    exporter,
    port: from,
    nowMs: performance.now(),
    emit({ family, destination, packets: reported }) {
      const value = destination.reduce((all, word) => (all << 32n) | BigInt(word), 0n);
      const ip = formatAddress({ family, value });
      const before = packets.get(ip) ?? 0;
      packets.set(ip, before + reported);
      if (before >= enough || before + reported < enough) return;
      process.stdout.write(`${JSON.stringify({ ip, atMs: Date.now() })}\n`);
    },
  });
});
socket.bind(port, '127.0.0.1', () => process.stdout.write('{}\n'));
