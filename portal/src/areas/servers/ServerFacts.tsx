import type { GameServerDetail } from '@portcullis/client/index.ts';
import { type Fact, Facts } from '../../components/figures/Facts.tsx';
import { formatBytes, formatMib } from '../../format.ts';
import { messages } from '../../messages/index.ts';

const text = messages.server.facts;
const MIB = 1024 * 1024;

/** Resources that the server uses now, each against its limit. A dash where nothing is known. */
export function ServerFacts({ server }: { readonly server: GameServerDetail }) {
  const { resources: used, limits } = server;
  const cpu = used?.cpu_absolute ?? null;
  const memory = limits.memory * MIB;
  const disk = limits.disk * MIB;
  return (
    <Facts
      facts={[
        {
          name: text.memory,
          value: used && formatMib(used.memory_bytes),
          hint: text.of(formatMib(memory)),
          use: used && useOf(text.memory, used.memory_bytes / memory),
        },
        {
          name: text.cpu,
          value: cpu === null ? null : `${cpu.toFixed(1)} %`,
          hint: text.cores(limits.cpu),
          use: cpu === null ? null : useOf(text.cpu, cpu / limits.cpu),
        },
        {
          name: text.disk,
          value: used && formatMib(used.disk_bytes),
          hint: text.of(formatMib(disk)),
          use: used && useOf(text.disk, used.disk_bytes / disk),
        },
        {
          name: text.network,
          value: used && text.received(formatBytes(used.network_rx_bytes)),
          hint: used && text.sent(formatBytes(used.network_tx_bytes)),
        },
        {
          name: text.uptime,
          value: used && server.state !== 'offline' ? uptimeOf(used.uptime) : null,
        },
      ]}
    />
  );
}

function useOf(name: string, share: number): NonNullable<Fact['use']> {
  return { share, label: text.use(name, `${Math.round(share * 100)} %`) };
}

const MINUTE_MS = 60_000;

function uptimeOf(ms: number): string {
  const minutes = Math.floor(ms / MINUTE_MS);
  const hours = Math.floor(minutes / 60);
  return messages.server.uptime(Math.floor(hours / 24), hours % 24, minutes % 60);
}
