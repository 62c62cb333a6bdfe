import { Button, Tooltip } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { Confirm } from '../../../components/Confirm.tsx';
import { Pill } from '../../../components/Pill.tsx';
import { Time } from '../../../components/Time.tsx';
import { messages } from '../../../messages/index.ts';
import { personClient, useSession } from '../../../session/session.ts';
import { type KnownPerson, type MadeLink, useRefreshOperator } from '../queries.ts';

const text = messages.operator.people;
type Change = 'operator' | 'disabled' | 'reset';

interface Props {
  readonly people: readonly KnownPerson[];
  onLink(link: MadeLink): void;
}

export function PersonTable({ people, onLink }: Props) {
  const [asked, setAsked] = useState<{ person: KnownPerson; change: Change } | null>(null);
  return (
    <div className="scroll-x">
      <table className="plain-table">
        <thead>
          <tr>
            <th scope="col">{text.columns.person}</th>
            <th scope="col">{text.columns.organisations}</th>
            <th scope="col">{text.columns.state}</th>
            <th scope="col">{text.columns.seen}</th>
            <th scope="col">
              <span className="hidden">{text.columns.actions}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {people.map((person) => (
            <PersonRow
              key={person.id}
              person={person}
              onAsk={(change) => setAsked({ person, change })}
            />
          ))}
        </tbody>
      </table>
      {asked !== null && <ChangePerson {...asked} onLink={onLink} onClose={() => setAsked(null)} />}
    </div>
  );
}

interface RowProps {
  readonly person: KnownPerson;
  onAsk(change: Change): void;
}

function PersonRow({ person, onAsk }: RowProps) {
  const { person: self } = useSession();
  const isSelf = self?.id === person.id;
  return (
    <tr data-dim={person.disabled ? '' : undefined}>
      <td>
        <div className="strong">
          {person.name} {isSelf && <span className="dim">{messages.members.you}</span>}
        </div>
        <span className="dim">{person.email}</span>
      </td>
      <td className="dim">
        {person.organisations.map(({ slug, role }) => (
          <div key={slug}>
            <span className="mono">{slug}</span> {messages.members.roleName(role)}
          </div>
        ))}
      </td>
      <td>
        <div className="pills">
          {person.operator && <Pill tone="info">{text.operator}</Pill>}
          {person.disabled && <Pill tone="bad">{text.disabled}</Pill>}
          <Pill tone={person.totp ? 'ok' : 'neutral'} plain>
            {person.totp ? text.totp : text.noTotp}
          </Pill>
        </div>
      </td>
      <td className="dim nowrap">
        {person.last_seen_at === null ? messages.members.never : <Time at={person.last_seen_at} />}
      </td>
      <td>
        <div className="row row-actions">
          {(['reset', 'operator', 'disabled'] as const).map((change) => (
            <ChangeButton
              key={change}
              label={text.actions[change](person)}
              refusal={isSelf && change !== 'reset' ? text.notSelf : null}
              onClick={() => onAsk(change)}
            />
          ))}
        </div>
      </td>
    </tr>
  );
}

interface ButtonProps {
  readonly label: string;
  readonly refusal: string | null;
  onClick(): void;
}

function ChangeButton({ label, refusal, onClick }: ButtonProps) {
  return (
    <Tooltip label={refusal} disabled={refusal === null}>
      <Button
        variant="default"
        size="compact-sm"
        {...(refusal !== null && { 'data-disabled': true })}
        aria-disabled={refusal !== null}
        onClick={() => refusal === null && onClick()}
      >
        {label}
      </Button>
    </Tooltip>
  );
}

interface ChangeProps {
  readonly person: KnownPerson;
  readonly change: Change;
  onLink(link: MadeLink): void;
  onClose(): void;
}

function ChangePerson({ person, change, onLink, onClose }: ChangeProps) {
  const refresh = useRefreshOperator();
  const { id, email, operator, disabled } = person;
  const write = useMutation({
    mutationFn: async () => {
      if (change === 'reset') {
        onLink({ ...(await personClient.createResetLink({ person: id })).data, email });
        return;
      }
      const body = { operator, disabled, [change]: !person[change] };
      await personClient.changePerson({ person: id, body });
      refresh();
    },
  });
  const label = text.actions[change](person);
  return (
    <Confirm title={`${label}: ${person.name}`} confirm={label} write={write} onClose={onClose}>
      {text.explained[change](person)}
    </Confirm>
  );
}
