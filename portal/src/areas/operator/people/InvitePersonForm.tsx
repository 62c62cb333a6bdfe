import { Button, Select, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type SubmitEvent, useState } from 'react';
import { ProblemNotice } from '../../../components/ProblemNotice.tsx';
import { messages } from '../../../messages/index.ts';
import { type Role, ROLES } from '../../../session/roles.ts';
import { personClient } from '../../../session/session.ts';
import { useOrganisations } from '../queries.ts';
import type { MadeLink } from './PeoplePanel.tsx';

const text = messages.operator.people;
/** No slug: they begin with a letter or digit. */
const OPERATOR = '-';

interface Props {
  onClose(): void;
  onInvited(link: MadeLink): void;
}

/** Invites an operator, or a person to an organisation. */
export function InvitePersonForm({ onClose, onInvited }: Props) {
  const organisations = useOrganisations();
  const [email, setEmail] = useState('');
  const [target, setTarget] = useState<string | null>(null);
  const [role, setRole] = useState<Role>('owner');
  const isOperator = target === OPERATOR;
  const invite = useMutation({
    mutationFn: async () => {
      const where = isOperator
        ? { organisation: null, role: null }
        : { organisation: target, role };
      return { ...(await personClient.invitePerson({ body: { email, ...where } })).data, email };
    },
    onSuccess: onInvited,
  });
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    invite.mutate();
  };
  return (
    <form className="panel stack" aria-label={messages.members.invite} onSubmit={submit}>
      <div className="form-row">
        <TextInput
          className="field"
          autoFocus
          label={messages.members.email}
          type="email"
          value={email}
          onChange={(event) => setEmail(event.currentTarget.value.trim())}
          required
        />
        <Select
          className="field"
          label={text.target}
          placeholder={messages.noOrganisation.choose}
          data={[
            ...(organisations.data ?? []).map(({ slug, name }) => ({
              value: slug,
              label: `${name} (${slug})`,
            })),
            { value: OPERATOR, label: text.asOperator },
          ]}
          value={target}
          onChange={setTarget}
          searchable
          required
        />
        {!isOperator && (
          <Select
            className="field-s"
            label={messages.members.role}
            data={ROLES.map((value) => ({ value, label: messages.members.roles[value] }))}
            value={role}
            onChange={(value) => value !== null && setRole(value)}
          />
        )}
      </div>
      <ProblemNotice error={invite.error} />
      <div className="row">
        <Button type="submit" loading={invite.isPending} disabled={email === '' || target === null}>
          {messages.members.makeLink}
        </Button>
        <Button variant="subtle" color="gray" onClick={onClose}>
          {messages.cancel}
        </Button>
        <span className="dim">{messages.members.noMail}</span>
      </div>
    </form>
  );
}
