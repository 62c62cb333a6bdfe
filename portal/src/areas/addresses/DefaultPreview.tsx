import { useQuery } from '@tanstack/react-query';
import type { PreviewedPort } from '@portcullis/client/index.ts';
import { Loaded } from '../../components/Loaded.tsx';
import { Notice } from '../../components/Notice.tsx';
import { Pill } from '../../components/Pill.tsx';
import { Time } from '../../components/Time.tsx';
import { messages } from '../../messages/index.ts';
import { useSession } from '../../session/session.ts';

const text = messages.default.preview;
const MAX_SHOWN = 12;
/** By number of the IP protocol. */
const PROTOCOLS: Readonly<Record<number, string>> = { 1: 'ICMP', 6: 'TCP', 17: 'UDP', 58: 'ICMP' };

/** What a default of deny would have dropped of the packets of the last day. */
export function DefaultPreview({ ip }: { readonly ip: string }) {
  const { client } = useSession();
  const preview = useQuery({
    queryKey: ['default-preview', ip],
    queryFn: ({ signal }) => client.previewDefault({ ip }, { signal }),
  });
  return (
    <Loaded query={preview} rows={3}>
      {({ data: { ports }, message }) => (
        <>
          <Notice kind={ports.some(isDropped) ? 'warn' : 'info'}>{message}</Notice>
          {ports.length > 0 && <Ports ports={ports} />}
        </>
      )}
    </Loaded>
  );
}

function isDropped({ dropped }: PreviewedPort): boolean {
  return dropped.samples > 0;
}

function Ports({ ports }: { readonly ports: readonly PreviewedPort[] }) {
  const more = ports.length - MAX_SHOWN;
  return (
    <div className="scroll-x">
      <table className="plain-table">
        <thead>
          <tr>
            <th scope="col">{text.to}</th>
            <th scope="col">{text.outcome}</th>
            <th scope="col">{text.sources}</th>
            <th scope="col">{text.seen}</th>
          </tr>
        </thead>
        <tbody>
          {ports.slice(0, MAX_SHOWN).map((each) => (
            <Row key={`${each.protocol}:${each.port}`} previewed={each} />
          ))}
        </tbody>
      </table>
      {more > 0 && <p className="dim">{text.more(more)}</p>}
    </div>
  );
}

function Row({ previewed }: { readonly previewed: PreviewedPort }) {
  const { protocol, port, dropped, passed, last_seen_at: seen } = previewed;
  const isGone = isDropped(previewed);
  return (
    <tr>
      <td>
        {PROTOCOLS[protocol] ?? messages.drops.protocol(protocol)}{' '}
        {port !== null && <span className="mono">{port}</span>}
      </td>
      <td>
        <span className="pills">
          {isGone && <Pill tone="bad">{text.dropped}</Pill>}
          {passed.samples > 0 && <Pill tone="ok">{text.passes}</Pill>}
        </span>
      </td>
      <td>{(isGone ? dropped : passed).sources}</td>
      <td className="dim nowrap">
        <Time at={seen} />
      </td>
    </tr>
  );
}
