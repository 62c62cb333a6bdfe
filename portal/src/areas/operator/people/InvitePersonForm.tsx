import { Select, TextInput } from '@mantine/core';
import type { MadeLink } from '../../../components/list/LinkTable.tsx';
import { WriteForm } from '../../../components/forms/WriteForm.tsx';
import { messages } from '../../../messages/index.ts';
import { operatorMessages } from '../../../messages/operator.ts';
import { type Role, ROLES } from '../../../session/roles.ts';
import { personClient } from '../../../session/session.ts';
import { useOrganisations } from '../queries.ts';

const text = operatorMessages.people;
/** No slug: they begin with a letter or digit. */
const OPERATOR = '-';

const NOBODY: {
  readonly email: string;
  /** `OPERATOR` for none. */
  readonly organisation: string | null;
  readonly role: Role;
} = { email: '', organisation: null, role: 'owner' };

interface Props {
  onClose(): void;
  onInvited(link: MadeLink): void;
}

/** Invites an operator, or a person to an organisation. */
export function InvitePersonForm({ onClose, onInvited }: Props) {
  const organisations = useOrganisations();
  const choices = [
    ...(organisations.data ?? []).map(({ slug, name }) => ({
      value: slug,
      label: `${name} (${slug})`,
    })),
    { value: OPERATOR, label: text.asOperator },
  ];
  return (
    <WriteForm
      label={messages.members.invite}
      layout="panel"
      initial={NOBODY}
      submit={messages.members.makeLink}
      note={messages.members.noMail}
      refusal={({ email, organisation }) => email.trim() === '' || organisation === null}
      write={async ({ organisation, role, ...typed }) => {
        const email = typed.email.trim();
        const where =
          organisation === OPERATOR ? { organisation: null, role: null } : { organisation, role };
        return { ...(await personClient.invitePerson({ body: { email, ...where } })).data, email };
      }}
      onDone={(link) => {
        onClose();
        onInvited(link);
      }}
      onCancel={onClose}
    >
      {({ values, getInputProps }) => (
        <div className="form-row">
          <TextInput
            className="field"
            autoFocus
            label={messages.members.email}
            type="email"
            required
            {...getInputProps('email')}
          />
          <Select
            className="field"
            label={text.target}
            placeholder={messages.noOrganisation.choose}
            data={choices}
            searchable
            required
            {...getInputProps('organisation')}
          />
          {values.organisation !== OPERATOR && (
            <Select
              className="field-s"
              label={messages.members.role}
              data={ROLES.map((value) => ({ value, label: messages.members.roles[value] }))}
              {...getInputProps('role')}
            />
          )}
        </div>
      )}
    </WriteForm>
  );
}
