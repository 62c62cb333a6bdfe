import { Button, Select, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import type { NewLink } from '@portcullis/client/index.ts';
import { type SubmitEvent, useState } from 'react';
import { ProblemNotice } from '../../../components/ProblemNotice.tsx';
import { messages } from '../../../messages/index.ts';
import { useRole } from '../../../session/rights.ts';
import type { Role } from '../../../session/roles.ts';
import { usePeopleClient } from '../../../session/session.ts';
import { rolesBelow } from './member-roles.ts';

const text = messages.members;

interface Props {
  onClose(): void;
  onInvited(link: NewLink['data'] & { readonly email: string }): void;
}

/** Makes a link; whoever invites gives it to the person. */
export function InviteForm({ onClose, onInvited }: Props) {
  const client = usePeopleClient();
  const [email, setEmail] = useState('');
  const [role, setRole] = useState<Role>('member');
  const roles = rolesBelow(useRole());
  const invite = useMutation({
    mutationFn: async () => ({
      ...(await client.inviteMember({ body: { email, role } })).data,
      email,
    }),
    onSuccess: onInvited,
  });
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    invite.mutate();
  };
  return (
    <form className="panel stack" aria-label={text.invite} onSubmit={submit}>
      <div className="form-row">
        <TextInput
          className="field"
          autoFocus
          label={text.email}
          type="email"
          placeholder="ada@example.net"
          value={email}
          onChange={(event) => setEmail(event.currentTarget.value.trim())}
          required
        />
        <Select
          className="field"
          label={text.role}
          description={text.roleText[role]}
          inputWrapperOrder={['label', 'input', 'description', 'error']}
          data={roles.map((value) => ({ value, label: text.roles[value] }))}
          value={role}
          onChange={(value) => value !== null && setRole(value)}
        />
      </div>
      <ProblemNotice error={invite.error} />
      <div className="row">
        <Button type="submit" loading={invite.isPending} disabled={email === ''}>
          {text.makeLink}
        </Button>
        <Button variant="subtle" color="gray" onClick={onClose}>
          {messages.cancel}
        </Button>
        <span className="dim">{text.noMail}</span>
      </div>
    </form>
  );
}
