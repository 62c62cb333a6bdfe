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
          ...limited(text.memory, used?.memory_bytes ?? null, memory, formatMib),
        },
        {
          name: text.cpu,
          value: cpu === null ? null : `${cpu.toFixed(1)} %`,
          ...limited(text.cpu, cpu, limits.cpu, (percent) => `${percent} %`),
        },
        {
          name: text.disk,
          value: used && formatMib(used.disk_bytes),
          ...limited(text.disk, used?.disk_bytes ?? null, disk, formatMib),
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

/** The limit, and the part of it that is used; without a limit (0) there is no part. */
function limited(
  name: string,
  used: number | null,
  limit: number,
  format: (limit: number) => string,
): Pick<Fact, 'hint' | 'use'> {
  if (limit === 0) return { hint: text.unlimited, use: null };
  const share = used === null ? null : used / limit;
  const use =
    share === null ? null : { share, label: text.use(name, `${Math.round(share * 100)} %`) };
  return { hint: text.of(format(limit)), use };
}

const MINUTE_MS = 60_000;

function uptimeOf(ms: number): string {
  const minutes = Math.floor(ms / MINUTE_MS);
  const hours = Math.floor(minutes / 60);
  return messages.server.uptime(Math.floor(hours / 24), hours % 24, minutes % 60);
}
