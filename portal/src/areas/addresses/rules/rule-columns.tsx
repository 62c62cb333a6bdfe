import { describeRule as describe } from '@portcullis/core/firewall/rules/describe.ts';
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

/** A rule in the words of plans, explanations and pasted lines. */
export function describeRule({
  destination_port: port = null,
  source_ip: source = null,
  ...rule
}: RuleLike): string {
  return describe({ ...rule, port, source });
}
