import { Button, Modal, PasswordInput } from '@mantine/core';
import type { UseMutationResult } from '@tanstack/react-query';
import { type ReactNode, type SubmitEvent, useState } from 'react';
import { messages } from '../messages/index.ts';
import { ProblemNotice } from './ProblemNotice.tsx';

interface Props<Result> {
  readonly title: string;
  readonly confirm: string;
  /** Takes the password. */
  readonly write: UseMutationResult<Result, Error, string>;
  readonly children: ReactNode;
  onClose(): void;
}

/** Asks for the account's password, because a session alone must not change how its owner signs in. */
export function PasswordPrompt<Result>({
  title,
  confirm,
  write,
  children,
  onClose,
}: Props<Result>) {
  const [password, setPassword] = useState('');
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    write.mutate(password);
  };
  return (
    <Modal
      opened
      onClose={onClose}
      title={title}
      closeButtonProps={{ 'aria-label': messages.close }}
    >
      <form className="stack" onSubmit={submit}>
        {children}
        <PasswordInput
          data-autofocus
          label={messages.signIn.password}
          description={messages.link.ownPassword}
          autoComplete="current-password"
          value={password}
          onChange={(event) => setPassword(event.currentTarget.value)}
          required
          visibilityToggleButtonProps={{ 'aria-label': messages.signIn.showPassword }}
        />
        <ProblemNotice error={write.error} />
        <div className="row">
          <div className="row-end">
            <Button variant="default" onClick={onClose}>
              {messages.cancel}
            </Button>
            <Button type="submit" loading={write.isPending} disabled={password === ''}>
              {confirm}
            </Button>
          </div>
        </div>
      </form>
    </Modal>
  );
}
