import type { AttackMitigation } from '@portcullis/client/index.ts';
import { ShieldOff } from 'lucide-react';
import type { Column } from '../../../components/list/columns.ts';
import { ListPanel } from '../../../components/list/ListPanel.tsx';
import { Pill } from '../../../components/Pill.tsx';
import { Time } from '../../../components/Time.tsx';
import { messages } from '../../../messages/index.ts';

const text = messages.attack;
const BECAUSE: Readonly<Record<string, string>> = text.because;
const MODES: Readonly<Record<string, string>> = text.modes;

/** Actions that edges do or did against an attack. */
export function Actions({ mitigations }: { readonly mitigations: readonly AttackMitigation[] }) {
  return (
    <ListPanel
      title={text.actions}
      isHeaded
      lead={text.actionsLead}
      rows={mitigations}
      empty={{ icon: ShieldOff, ...text.noActions }}
      columns={COLUMNS}
      keyOf={({ id, edge, action, since }) => `${id} ${edge} ${action} ${since}`}
      scrollLabel={text.actions}
    />
  );
}

const COLUMNS: readonly Column<AttackMitigation>[] = [
  { title: text.action, cell: ({ action }) => action },
  { title: text.by, cell: ({ edge }) => edge ?? <span className="dim">{text.allEdges}</span> },
  {
    title: text.mode,
    cell: ({ mode }) => (
      <Pill tone={mode === 'enforce' ? 'ok' : 'neutral'}>{MODES[mode] ?? mode}</Pill>
    ),
  },
  { title: text.since, cell: ({ since }) => <Time at={since} /> },
  {
    title: text.until,
    cell: ({ until, ended_because: why }) => (
      <>
        {until === null ? <Pill tone="info">{text.stands}</Pill> : <Time at={until} />}{' '}
        {why !== null && <span className="dim">{BECAUSE[why] ?? why}</span>}
      </>
    ),
  },
];
