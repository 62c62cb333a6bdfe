import { Button, PasswordInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type SubmitEvent, useState } from 'react';
import { Notice } from '../../components/Notice.tsx';
import { ProblemNotice } from '../../components/ProblemNotice.tsx';
import { messages } from '../../messages/index.ts';
import { personClient, useSession } from '../../session/session.ts';
import { useRefreshAccount } from './queries.ts';

const text = messages.account.password;
const MIN_LENGTH = 12;
const EMPTY = { password: '', new_password: '' };

export function PasswordCard() {
  const { person } = useSession();
  const [typed, setTyped] = useState(EMPTY);
  const refresh = useRefreshAccount();
  const save = useMutation({
    mutationFn: () => personClient.changePassword({ body: typed }),
    onSuccess() {
      setTyped(EMPTY);
      refresh();
    },
  });
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    save.mutate();
  };
  const toggle = { 'aria-label': messages.signIn.showPassword };
  return (
    <section className="card card-pad" aria-label={text.title}>
      <h2>{text.title}</h2>
      <p>{text.lead}</p>
      <form className="stack" onSubmit={submit}>
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
        <PasswordInput
          label={text.current}
          autoComplete="current-password"
          value={typed.password}
          onChange={(event) => setTyped({ ...typed, password: event.currentTarget.value })}
          required
          visibilityToggleButtonProps={toggle}
        />
        <PasswordInput
          label={text.next}
          description={messages.link.newPassword}
          autoComplete="new-password"
          value={typed.new_password}
          onChange={(event) => setTyped({ ...typed, new_password: event.currentTarget.value })}
          required
          visibilityToggleButtonProps={toggle}
        />
        <ProblemNotice error={save.error} />
        {save.isSuccess && <Notice kind="ok">{text.saved}</Notice>}
        <div className="row">
          <Button
            type="submit"
            variant="default"
            loading={save.isPending}
            disabled={typed.password === '' || typed.new_password.length < MIN_LENGTH}
          >
            {text.save}
          </Button>
        </div>
      </form>
    </section>
  );
}
