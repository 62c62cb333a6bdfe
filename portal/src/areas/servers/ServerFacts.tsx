import type { GameServerDetail } from '@portcullis/client/index.ts';
import { formatBytes, formatMib } from '../../format.ts';
import { messages } from '../../messages/index.ts';
import { uptimeOf } from './uptime.ts';

const text = messages.server.facts;
const MIB = 1024 * 1024;

/** What the server uses now, each against its limit. A dash where nothing is known. */
export function ServerFacts({ server }: { readonly server: GameServerDetail }) {
  const { resources: used, limits } = server;
  const cpu = used?.cpu_absolute ?? null;
  return (
    <dl className="facts">
      <Fact
        name={text.memory}
        value={used && formatMib(used.memory_bytes)}
        limit={text.of(formatMib(limits.memory * MIB))}
        share={used && used.memory_bytes / (limits.memory * MIB)}
      />
      <Fact
        name={text.cpu}
        value={cpu === null ? null : `${cpu.toFixed(1)} %`}
        limit={text.cores(limits.cpu)}
        share={cpu === null ? null : cpu / limits.cpu}
      />
      <Fact
        name={text.disk}
        value={used && formatMib(used.disk_bytes)}
        limit={text.of(formatMib(limits.disk * MIB))}
        share={used && used.disk_bytes / (limits.disk * MIB)}
      />
      <Fact
        name={text.network}
        value={used && text.received(formatBytes(used.network_rx_bytes))}
        limit={used === null ? '' : text.sent(formatBytes(used.network_tx_bytes))}
        share={null}
      />
      <Fact
        name={text.uptime}
        value={used && server.state !== 'offline' ? uptimeOf(used.uptime) : null}
        limit=""
        share={null}
      />
    </dl>
  );
}

interface FactProps {
  readonly name: string;
  readonly value: string | null;
  readonly limit: string;
  readonly share: number | null;
}

function Fact({ name, value, limit, share }: FactProps) {
  return (
    <div className="fact">
      <dt>{name}</dt>
      <dd>
        {value ?? '–'} <small>{limit}</small>
      </dd>
      {share !== null && (
        <dd className="use">
          <meter
            aria-label={text.use(name, `${Math.round(share * 100)} %`)}
            min={0}
            max={1}
            high={0.9}
            optimum={0}
            value={Math.min(1, share)}
          />
        </dd>
      )}
    </div>
  );
}
