import { Pill } from '../../../components/Pill.tsx';
import type { Column } from '../../../components/list/columns.ts';
import { messages } from '../../../messages/index.ts';

const text = messages.rules;

/** Fields that rules of addresses, of groups and of forms have in common. */
interface RuleLike {
  readonly action: 'allow' | 'deny';
  readonly protocol: string;
  readonly destination_port?: number | string | null | undefined;
  readonly source_ip?: string | null | undefined;
}

export const RULE_COLUMNS: readonly Column<RuleLike>[] = [
  {
    title: text.action,
    width: '70px',
    card: 'head',
    cell: ({ action }) => (
      <Pill tone={action === 'allow' ? 'ok' : 'bad'} plain>
        {action === 'allow' ? text.allow : text.deny}
      </Pill>
    ),
  },
  {
    title: text.protocol,
    width: '70px',
    card: 'head',
    cell: ({ protocol }) => protocolName(protocol),
  },
  {
    title: text.port,
    width: '64px',
    card: 'head',
    cell: ({ destination_port: port }) =>
      (port ?? null) === null ? (
        <span className="dim">{text.any}</span>
      ) : (
        <span className="mono">{port}</span>
      ),
  },
  {
    title: text.source,
    width: 'minmax(130px, 1.2fr)',
    cell: ({ source_ip: source }) =>
      (source ?? null) === null ? (
        <span className="dim">{text.anywhere}</span>
      ) : (
        <span className="mono">{source}</span>
      ),
  },
];

function protocolName(protocol: string): string {
  return protocol in text.protocols
    ? text.protocols[protocol as keyof typeof text.protocols]
    : protocol;
}

export function describeRule({ action, protocol, destination_port, source_ip }: RuleLike): string {
  return text.described(
    action === 'allow' ? text.allow : text.deny,
    protocolName(protocol),
    String(destination_port ?? text.any),
    source_ip ?? text.anywhere,
  );
}
