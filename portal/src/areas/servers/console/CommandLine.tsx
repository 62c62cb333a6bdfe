import { TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { ChevronRight, CornerDownLeft } from 'lucide-react';
import { type KeyboardEvent, type SubmitEvent, useState } from 'react';
import { Notice } from '../../../components/Notice.tsx';
import { RoleButton } from '../../../components/RoleButton.tsx';
import { messages } from '../../../messages/index.ts';
import { useSession } from '../../../session/session.ts';
import { addCommand, NO_HISTORY, stepHistory } from './command-history.ts';

const text = messages.server.console;
const MAX_LENGTH = 2048;

interface Props {
  readonly uuid: string;
  readonly isBuilt: boolean;
  readonly isRunning: boolean;
  /** The game may have answered. */
  onSent(): void;
}

/** A line for the game. The arrow keys bring back what was sent before. */
export function CommandLine({ uuid, isBuilt, isRunning, onSent }: Props) {
  const { client } = useSession();
  const why = isBuilt ? text.notRunning : text.notBuiltYet;
  const [typed, setTyped] = useState('');
  const [history, setHistory] = useState(NO_HISTORY);
  const send = useMutation({
    mutationFn: (command: string) => client.sendCommand({ slice: uuid, body: { command } }),
    onSuccess(_, command) {
      setHistory((before) => addCommand(before, command));
      // What was typed meanwhile is the next command.
      setTyped((now) => (now === command ? '' : now));
      onSent();
    },
  });
  const submit = (): void => {
    if (isRunning && typed !== '' && !send.isPending) send.mutate(typed);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== 'ArrowUp' && event.key !== 'ArrowDown') return;
    event.preventDefault();
    const step = stepHistory(history, event.key === 'ArrowUp' ? -1 : 1, typed);
    if (step === null) return;
    setHistory(step.history);
    setTyped(step.shown);
  };
  return (
    <form
      className="card-pad stack"
      onSubmit={(event: SubmitEvent) => {
        event.preventDefault();
        submit();
      }}
    >
      {send.error !== null && <Notice kind="bad">{send.error.message}</Notice>}
      <div className="command">
        <TextInput
          aria-label={text.command}
          placeholder={isRunning ? text.placeholder : why}
          value={typed}
          maxLength={MAX_LENGTH}
          spellCheck={false}
          autoComplete="off"
          onChange={(event) => setTyped(event.currentTarget.value)}
          onKeyDown={onKeyDown}
          leftSection={<ChevronRight size={15} aria-hidden="true" />}
        />
        <RoleButton
          refusal={isRunning ? null : why}
          loading={send.isPending}
          leftSection={<CornerDownLeft size={15} aria-hidden="true" />}
          onClick={submit}
        >
          {text.send}
        </RoleButton>
      </div>
    </form>
  );
}
