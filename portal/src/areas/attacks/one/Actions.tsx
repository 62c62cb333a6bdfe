import type { AttackMitigation } from '@portcullis/client/index.ts';
import { ShieldOff } from 'lucide-react';
import { EmptyState } from '../../../components/EmptyState.tsx';
import { Pill } from '../../../components/Pill.tsx';
import { Time } from '../../../components/Time.tsx';
import { messages } from '../../../messages/index.ts';

const text = messages.attack;
const BECAUSE: Readonly<Record<string, string>> = text.because;
const MODES: Readonly<Record<string, string>> = text.modes;

/** What edges do or did against an attack. */
export function Actions({ mitigations }: { readonly mitigations: readonly AttackMitigation[] }) {
  return (
    <section className="card">
      <div className="card-pad">
        <h2>{text.actions}</h2>
        <p className="dim">{text.actionsLead}</p>
      </div>
      {mitigations.length === 0 ? (
        <EmptyState icon={ShieldOff} title={text.noActions.title} text={text.noActions.text} />
      ) : (
        <div className="scroll-x" tabIndex={0} role="region" aria-label={text.actions}>
          <table className="plain-table">
            <thead>
              <tr>
                <th scope="col">{text.action}</th>
                <th scope="col">{text.by}</th>
                <th scope="col">{text.mode}</th>
                <th scope="col">{text.since}</th>
                <th scope="col">{text.until}</th>
              </tr>
            </thead>
            <tbody>
              {mitigations.map((each) => (
                <Row key={`${each.id} ${each.edge} ${each.action} ${each.since}`} of={each} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

function Row({ of }: { readonly of: AttackMitigation }) {
  const { action, edge, mode, since, until, ended_because: why } = of;
  return (
    <tr>
      <td>{action}</td>
      <td>{edge ?? <span className="dim">{text.allEdges}</span>}</td>
      <td>
        <Pill tone={mode === 'enforce' ? 'ok' : 'neutral'}>{MODES[mode] ?? mode}</Pill>
      </td>
      <td>
        <Time at={since} />
      </td>
      <td>
        {until === null ? <Pill tone="info">{text.stands}</Pill> : <Time at={until} />}{' '}
        {why !== null && <span className="dim">{BECAUSE[why] ?? why}</span>}
      </td>
    </tr>
  );
}
