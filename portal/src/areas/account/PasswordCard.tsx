import { useState } from 'react';
import { Card } from '../../components/Card.tsx';
import { PasswordField } from '../../components/forms/PasswordField.tsx';
import { WriteForm } from '../../components/forms/WriteForm.tsx';
import { messages } from '../../messages/index.ts';
import { personClient, useSession } from '../../session/session.ts';

const text = messages.account.password;
const MIN_LENGTH = 12;
const EMPTY = { password: '', new_password: '' };

export function PasswordCard() {
  const { person } = useSession();
  const [passkeys, setPasskeys] = useState<readonly string[]>([]);
  return (
    <Card title={text.title} lead={text.lead}>
      <WriteForm
        initial={EMPTY}
        submit={text.save}
        submitProps={{ variant: 'default' }}
        saved={text.saved(passkeys)}
        resetsOnDone
        refusal={(typed) => typed.password === '' || typed.new_password.length < MIN_LENGTH}
        write={async (body) => (await personClient.changePassword({ body })).data.passkeys}
        onDone={(kept) => setPasskeys(kept.map(({ name }) => name))}
      >
        {({ getInputProps }) => (
          <>
            {/* So that a password manager knows whose password it is. */}
            <input
              className="hidden"
              type="text"
              autoComplete="username"
              value={person?.email ?? ''}
              readOnly
              tabIndex={-1}
              aria-hidden="true"
            />
            <PasswordField
              label={text.current}
              autoComplete="current-password"
              {...getInputProps('password')}
            />
            <PasswordField
              label={text.next}
              description={messages.link.newPassword}
              autoComplete="new-password"
              {...getInputProps('new_password')}
            />
          </>
        )}
      </WriteForm>
    </Card>
  );
}
