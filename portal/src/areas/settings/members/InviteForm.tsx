import { Select, TextInput } from '@mantine/core';
import type { MadeLink } from '../../../components/list/LinkTable.tsx';
import { WriteForm } from '../../../components/forms/WriteForm.tsx';
import { messages } from '../../../messages/index.ts';
import { useRole } from '../../../session/rights.ts';
import type { Role } from '../../../session/roles.ts';
import { usePeopleClient } from '../../../session/session.ts';
import { rolesBelow } from './member-roles.ts';

const text = messages.members;
const EMPTY: { email: string; role: Role } = { email: '', role: 'member' };

interface Props {
  onClose(): void;
  onInvited(link: MadeLink): void;
}

/** Makes a link; whoever invites gives it to the person. */
export function InviteForm({ onClose, onInvited }: Props) {
  const client = usePeopleClient();
  const roles = rolesBelow(useRole());
  return (
    <WriteForm
      label={text.invite}
      layout="panel"
      initial={EMPTY}
      refusal={({ email }) => email === ''}
      write={async (body) => ({
        ...(await client.inviteMember({ body })).data,
        email: body.email,
      })}
      onDone={(link) => {
        onClose();
        onInvited(link);
      }}
      onCancel={onClose}
      submit={text.makeLink}
      note={text.noMail}
    >
      {(form) => (
        <div className="form-row">
          <TextInput
            className="field"
            autoFocus
            label={text.email}
            type="email"
            placeholder="ada@example.net"
            required
            {...form.getInputProps('email')}
          />
          <Select
            className="field"
            label={text.role}
            description={text.roleText[form.values.role]}
            inputWrapperOrder={['label', 'input', 'description', 'error']}
            data={roles.map((value) => ({ value, label: text.roles[value] }))}
            allowDeselect={false}
            {...form.getInputProps('role')}
          />
        </div>
      )}
    </WriteForm>
  );
}
